import { useState } from "preact/hooks";
import { get, send } from "../lib/api";
import { useLive, usePages } from "../lib/live";
import { ROLE_TEXTS } from "../lib/roles";
import { navigate } from "../lib/router";
import type { Invitation, InvitationList, Me, Member, MemberTokens, Organization, Role } from "../lib/types";
import { Avatar } from "../shell/header";
import { Button, confirmDialog, Failed, Field, Loading, MoreButton, Time, toast, useAction } from "../ui";
import { leaveQuestion, removeQuestion, TokensToRevoke } from "./remove-member";
import { RoleField, RoleList, RoleOptions } from "./role-field";

const memberId = (member: Member) => member.id;

export function Members({ organization }: { organization: Organization }) {
  const path = `/organizations/${organization.id}`;
  const owner = organization.role === "owner";
  const me = useLive<Me>("/me");
  const members = usePages(`${path}/members`, "members", memberId);
  const invitations = useLive<InvitationList>(`${path}/invitations`);
  return (
    <section class="section split">
      <h2>Members</h2>
      <div class="stack wide">
        {owner && <Invite path={path} onInvited={invitations.refresh} />}
        {members.loading && <Loading rows={4} />}
        {members.error && !members.loaded && <Failed error={members.error} retry={members.refresh} />}
        <ul class="rows">
          {invitations.data?.invitations.map((invitation) => (
            <InvitedRow
              key={invitation.user.id}
              path={path}
              invitation={invitation}
              owner={owner}
              onWithdrawn={invitations.refresh}
            />
          ))}
          {members.items.map((member) => (
            <MemberRow
              key={member.id}
              path={path}
              member={member}
              organization={organization}
              onChanged={async () => {
                await Promise.all([members.refresh(), me.refresh()]);
              }}
            />
          ))}
        </ul>
        <MoreButton more={members.more} noun="members" />
        <RoleList />
      </div>
    </section>
  );
}

interface InvitedRowProps {
  path: string;
  invitation: Invitation;
  owner: boolean;
  onWithdrawn: () => Promise<void>;
}

function InvitedRow({ path, invitation, owner, onWithdrawn }: InvitedRowProps) {
  const { user, role, invited_by, created_at } = invitation;
  const action = useAction();
  const withdraw = () =>
    action.run(async () => {
      await send("DELETE", `${path}/members/${user.id}`);
      toast(`Withdrew the invitation for ${user.login}.`);
      await onWithdrawn();
    });
  return (
    <li class="row member">
      <Avatar user={user} />
      <div class="row-main">
        <h3 class="row-title">{user.login}</h3>
        <p class="quiet small">
          {[user.name, user.provider].filter(Boolean).join(", ")}. Invited by {invited_by}{" "}
          <Time at={created_at} />, not accepted yet
        </p>
      </div>
      <div class="row-actions">
        <span class="quiet">{ROLE_TEXTS[role].label}</span>
        {owner && (
          <Button
            busy={action.busy}
            onClick={withdraw}
            aria-label={`Withdraw the invitation for ${user.login}`}
          >
            Withdraw
          </Button>
        )}
      </div>
    </li>
  );
}

interface MemberRowProps {
  path: string;
  member: Member;
  organization: Organization;
  onChanged: () => Promise<void>;
}

function MemberRow({ path, member, organization, onChanged }: MemberRowProps) {
  const manages = organization.role === "owner";
  const me = useLive<Me>("/me");
  const action = useAction();
  const changeRole = (role: Role) =>
    action.run(async () => {
      await send("PATCH", `${path}/members/${member.id}`, { role });
      toast(`${member.login} is now ${ROLE_TEXTS[role].one}.`);
      await onChanged();
    });
  const remove = async () => {
    const address = `${path}/members/${member.id}`;
    const found = await action.run(() => get<MemberTokens>(`${address}/tokens`));
    if (!found) return;
    let keep = false;
    const onKeep = (checked: boolean) => {
      keep = checked;
    };
    const tokens = <TokensToRevoke tokens={found.tokens} onKeep={manages ? onKeep : undefined} />;
    const question = member.you ? leaveQuestion(organization) : removeQuestion(member, organization);
    if (!(await confirmDialog({ ...question, body: [question.body, tokens] }))) return;
    await action.run(async () => {
      await send("DELETE", keep ? `${address}?keep_tokens=true` : address);
      toast(member.you ? `You left ${organization.name}.` : `Removed ${member.login}.`);
      if (!member.you) return onChanged();
      navigate("/");
      return me.refresh();
    });
  };
  return (
    <li class="row member">
      <Avatar user={member} />
      <div class="row-main">
        <h3 class="row-title">
          {member.login}
          {member.you && <span class="quiet"> (you)</span>}
        </h3>
        <p class="quiet small">
          {[member.name, member.provider, member.from_group && "through a group"].filter(Boolean).join(", ")}
        </p>
      </div>
      <div class="row-actions">
        <RoleChoice member={member} manages={manages} busy={action.busy} onChange={changeRole} />
        {(manages || member.you) && (
          <Button
            busy={action.busy}
            onClick={remove}
            aria-label={member.you ? "Leave" : `Remove ${member.login}`}
          >
            {member.you ? "Leave" : "Remove"}
          </Button>
        )}
      </div>
    </li>
  );
}

interface RoleChoiceProps {
  member: Member;
  manages: boolean;
  busy: boolean;
  onChange: (role: Role) => unknown;
}

function RoleChoice({ member, manages, busy, onChange }: RoleChoiceProps) {
  if (!manages) return <span class="quiet">{ROLE_TEXTS[member.role].label}</span>;
  return (
    <select
      aria-label={`Role of ${member.login}`}
      value={member.role}
      disabled={busy}
      onChange={(event) => {
        const role = event.currentTarget.value as Role;
        event.currentTarget.value = member.role; // show the saved role until the change is saved
        void onChange(role);
      }}
    >
      <RoleOptions />
    </select>
  );
}

function Invite({ path, onInvited }: { path: string; onInvited: () => Promise<void> }) {
  const [login, setLogin] = useState("");
  const [role, setRole] = useState<Role>("reviewer");
  const action = useAction({ inPlace: true });
  const invite = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const { user } = await send<Invitation>("POST", `${path}/invitations`, { login: login.trim(), role });
      setLogin("");
      toast(`Invited ${user.login}. They can accept on their Projects page.`);
      await onInvited();
    });
  };
  return (
    <form class="inline-form" onSubmit={invite}>
      <Field label="Login" error={action.problem}>
        {(field) => (
          <input
            {...field}
            value={login}
            required
            maxLength={200}
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            onInput={(event) => setLogin(event.currentTarget.value)}
          />
        )}
      </Field>
      <RoleField role={role} onChange={setRole} />
      <Button type="submit" kind="primary" busy={action.busy}>
        Invite
      </Button>
    </form>
  );
}
