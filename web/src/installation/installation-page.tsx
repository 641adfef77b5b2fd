import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { formatBytes, formatCount } from "../lib/format";
import { useLive, usePages } from "../lib/live";
import { useMe } from "../lib/me";
import type { QuotaHolder, QuotaHolders } from "../lib/types";
import { NotFoundPage } from "../shell/not-found-page";
import {
  Button,
  Dialog,
  Failed,
  Field,
  InstallationHead,
  Loading,
  MoreButton,
  toast,
  useAction,
} from "../ui";
import { describeQuota, parseQuota, quotaText } from "./quota-text";

const LIST = "/installation/organizations";
const holderId = (holder: QuotaHolder) => holder.id;

/** Only for the operator: what organizations store, and how much they may. */
export function InstallationPage() {
  if (!useMe().operator) return <NotFoundPage />;
  return (
    <>
      <InstallationHead current="organizations">
        What each organization stores, and its quota.
      </InstallationHead>
      <section>
        <Holders list={LIST} changed="/installation/organizations" withProjects />
      </section>
    </>
  );
}

interface HoldersProps {
  /** The route that lists them. */
  list: string;
  /** The route under which each of them changes. */
  changed: string;
  withProjects?: boolean;
}

function Holders({ list, changed, withProjects = false }: HoldersProps) {
  const first = useLive<QuotaHolders>(list);
  const holders = usePages(list, "holders", holderId);
  const defaultBytes = first.data?.default_bytes ?? 0;
  return (
    <>
      {holders.loading && <Loading rows={2} />}
      {holders.error && !holders.loaded && <Failed error={holders.error} retry={holders.refresh} />}
      {holders.loaded && holders.items.length === 0 && <p class="quiet small">No projects</p>}
      <ul class="rows">
        {holders.items.map((holder) => (
          <li key={holder.id} class="holder">
            <Holder
              holder={holder}
              path={`${changed}/${holder.id}`}
              defaultBytes={defaultBytes}
              onChanged={holders.refresh}
            />
            {withProjects && <ProjectsOf holder={holder} />}
          </li>
        ))}
      </ul>
      <MoreButton more={holders.more} />
    </>
  );
}

function ProjectsOf({ holder }: { holder: QuotaHolder }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Projects<span class="hidden"> of {holder.name}</span>
      </summary>
      {open && <Holders list={`${LIST}/${holder.id}/projects`} changed="/installation/projects" />}
    </details>
  );
}

interface HolderProps {
  holder: QuotaHolder;
  path: string;
  defaultBytes: number;
  onChanged: () => Promise<void>;
}

function Holder({ holder, path, defaultBytes, onChanged }: HolderProps) {
  const [editing, setEditing] = useState(false);
  return (
    <div class="holder-row">
      <strong>{holder.name}</strong>
      <span class="quiet">
        {formatCount(holder.images, "image")}, {formatBytes(holder.bytes)}
      </span>
      <span>Quota: {describeQuota(holder.quota_bytes, defaultBytes)}</span>
      <Button onClick={() => setEditing(true)}>
        Change quota<span class="hidden"> of {holder.name}</span>
      </Button>
      {editing && (
        <QuotaDialog holder={holder} path={path} onChanged={onChanged} onClose={() => setEditing(false)} />
      )}
    </div>
  );
}

interface QuotaDialogProps extends Omit<HolderProps, "defaultBytes"> {
  onClose: () => void;
}

function QuotaDialog({ holder, path, onChanged, onClose }: QuotaDialogProps) {
  const [text, setText] = useState(quotaText(holder.quota_bytes));
  const action = useAction({ inPlace: true });
  const quota = parseQuota(text);
  const save = (event: Event) => {
    event.preventDefault();
    if (quota === undefined) return;
    void action.run(async () => {
      await send("PATCH", path, { quota_bytes: quota });
      await onChanged();
      toast(`Saved the quota of ${holder.name}.`);
      onClose();
    });
  };
  return (
    <Dialog
      title={`Quota of ${holder.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <button
            class="button primary"
            type="submit"
            form="quota-form"
            disabled={quota === undefined}
            aria-busy={action.busy}
          >
            <span>Save quota</span>
          </button>
        </>
      }
    >
      <form id="quota-form" onSubmit={save}>
        <Field
          label="Quota"
          hint="A size such as 20 GB, or none for no limit. Leave empty for the installation’s default. A quota below the stored size deletes nothing."
          error={
            quota === undefined ? "Enter a size such as 20 GB, none, or leave it empty." : action.problem
          }
        >
          {(field) => (
            <input
              {...field}
              value={text}
              autocomplete="off"
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
