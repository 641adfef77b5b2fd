/** Creates links that show a pull request’s changes to people without an account, and lists and revokes them. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { date } from "../lib/format";
import { useLive } from "../lib/live";
import type { NewShareLink, ShareLink, ShareLinkList } from "../lib/types";
import type { PullUrls } from "../pull/urls";
import { Button, confirmDialog, Dialog, Failed, Field, Loading, Secret, Time, toast, useAction } from "../ui";

interface ShareDialogProps {
  urls: PullUrls;
  prNumber: number;
  onClose: () => void;
}

export function ShareDialog({ urls, prNumber, onClose }: ShareDialogProps) {
  const { data, error, refresh } = useLive<ShareLinkList>(urls.shareLinks);
  const [created, setCreated] = useState<NewShareLink | null>(null);
  return (
    <Dialog
      title={`Share the changes of #${prNumber}`}
      onClose={onClose}
      actions={<Button onClick={onClose}>Close</Button>}
    >
      <p>
        Anyone with a link can see the changes without an account, and nothing else. They can’t decide. A link
        ends for good when the pull request closes.
      </p>
      <CreateForm
        path={urls.shareLinks}
        onCreated={(link) => {
          setCreated(link);
          void refresh();
        }}
      />
      {created && (
        <div class="stack" role="status">
          <Secret noun="link" secret={created.url} />
        </div>
      )}
      {!data && (error ? <Failed error={error} retry={refresh} /> : <Loading rows={1} />)}
      {data && data.share_links.length > 0 && (
        <ul class="rows" aria-label="Links">
          {data.share_links.map((link) => (
            <LinkRow key={link.id} link={link} path={urls.shareLinks} onRevoked={refresh} />
          ))}
        </ul>
      )}
    </Dialog>
  );
}

interface CreateFormProps {
  path: string;
  onCreated: (created: NewShareLink) => void;
}

function CreateForm({ path, onCreated }: CreateFormProps) {
  const [days, setDays] = useState("7");
  const action = useAction({ inPlace: true });
  const submit = (event: Event) => {
    event.preventDefault();
    void action.run(async () => onCreated(await send<NewShareLink>("POST", path, { days: Number(days) })));
  };
  return (
    <form class="inline-form" onSubmit={submit}>
      <Field label="Days, 30 at most" error={action.problem}>
        {(field) => (
          <input
            {...field}
            class="days"
            type="number"
            min={1}
            max={30}
            required
            value={days}
            onInput={({ currentTarget }) => setDays(currentTarget.value)}
          />
        )}
      </Field>
      <Button type="submit" kind="primary" busy={action.busy}>
        Create link
      </Button>
    </form>
  );
}

interface LinkRowProps {
  link: ShareLink;
  path: string;
  onRevoked: () => Promise<void>;
}

function LinkRow({ link, path, onRevoked }: LinkRowProps) {
  const { id, created_by, created_at } = link;
  const state = stateOf(link);
  const action = useAction();
  const revoke = async () => {
    const question = {
      title: "Revoke the link?",
      body: <p>Nobody can open it anymore. You can’t undo this.</p>,
      action: "Revoke link",
    };
    if (!(await confirmDialog(question))) return;
    await action.run(async () => {
      await send("DELETE", `${path}/${id}`);
      toast("The link no longer works.");
      await onRevoked();
    });
  };
  return (
    <li class="row spread">
      <p class="row-about">
        {state === "active" ? <strong>{describeEnd(link)}</strong> : <span>{describeEnd(link)}</span>}
        <span>
          by {created_by}, <Time at={created_at} />
        </span>
      </p>
      {state === "active" && (
        <Button busy={action.busy} onClick={() => void revoke()}>
          Revoke<span class="hidden"> the link by {created_by}</span>
        </Button>
      )}
    </li>
  );
}

function stateOf({ expires_at, ended_at, ended_by }: ShareLink) {
  if (ended_at !== null) return ended_by ? "revoked" : "closed";
  return expires_at * 1000 > Date.now() ? "active" : "expired";
}

/** "Until 25 Nov 2026", "Revoked by ann on 20 Nov 2026" */
function describeEnd(link: ShareLink): string {
  const { expires_at, ended_at, ended_by } = link;
  const state = stateOf(link);
  if (state === "active") return `Until ${date(expires_at)}`;
  if (state === "expired") return `Ended on ${date(expires_at)}`;
  const on = ended_at === null ? "" : ` on ${date(ended_at)}`;
  return state === "revoked" ? `Revoked by ${ended_by}${on}` : `Ended with the pull request${on}`;
}
