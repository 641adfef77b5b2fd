/** Links that let one person join. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { date } from "../lib/format";
import { useLive } from "../lib/live";
import { ROLE_TEXTS } from "../lib/roles";
import type { InvitationLink, InvitationLinkList, NewInvitationLink, Role } from "../lib/types";
import { Button, confirmDialog, Failed, Loading, SecretDialog, Time, toast, useAction } from "../ui";
import { RoleField } from "./role-field";

export function InvitationLinks({ path }: { path: string }) {
  const list = `${path}/invitation-links`;
  const { data, error, refresh } = useLive<InvitationLinkList>(list);
  const [role, setRole] = useState<Role>("reviewer");
  const [created, setCreated] = useState<NewInvitationLink | null>(null);
  const action = useAction();
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      setCreated(await send<NewInvitationLink>("POST", list, { role }));
      await refresh();
    });
  };
  return (
    <section class="section split">
      <h2>Invitation links</h2>
      <div class="stack wide">
        <p class="quiet">
          The first person who opens the link can join, even if they never signed in here before. It works for
          7 days.
        </p>
        <form class="inline-form" onSubmit={create}>
          <RoleField role={role} onChange={setRole} />
          <Button type="submit" busy={action.busy}>
            Create link
          </Button>
        </form>
        {!data && (error ? <Failed error={error} retry={refresh} /> : <Loading rows={1} />)}
        <ul class="rows">
          {data?.links.map((link) => (
            <LinkRow key={link.id} link={link} list={list} onRevoked={refresh} />
          ))}
        </ul>
      </div>
      {created && (
        <SecretDialog
          title="Your invitation link"
          noun="link"
          secret={created.url}
          onClose={() => setCreated(null)}
        >
          Send it to one person. They can join as {ROLE_TEXTS[created.link.role].one} until{" "}
          {date(created.link.expires_at)}.
        </SecretDialog>
      )}
    </section>
  );
}

interface LinkRowProps {
  link: InvitationLink;
  list: string;
  onRevoked: () => Promise<void>;
}

function LinkRow({ link, list, onRevoked }: LinkRowProps) {
  const { id, role, created_by, created_at, expires_at } = link;
  const action = useAction();
  const revoke = async () => {
    const question = {
      title: "Revoke the link?",
      body: <p>Nobody can join with it anymore. You can’t undo this.</p>,
      action: "Revoke link",
    };
    if (!(await confirmDialog(question))) return;
    await action.run(async () => {
      await send("DELETE", `${list}/${id}`);
      toast("Revoked the link.");
      await onRevoked();
    });
  };
  return (
    <li class="row spread">
      <div class="row-main">
        <h3 class="row-title">{ROLE_TEXTS[role].label}</h3>
        <p class="quiet small">
          Created by {created_by} <Time at={created_at} />. Ends {date(expires_at)}
        </p>
      </div>
      <div class="row-actions">
        <Button busy={action.busy} onClick={revoke}>
          Revoke<span class="hidden"> the link of {created_by}</span>
        </Button>
      </div>
    </li>
  );
}
