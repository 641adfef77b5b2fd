import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { useLive, usePages } from "../lib/live";
import { useMe } from "../lib/me";
import { Link, navigate } from "../lib/router";
import type { Me, Member, Organization, Role } from "../lib/types";
import { Avatar } from "../shell/header";
import {
  Button,
  confirmDialog,
  Failed,
  FailedPage,
  Field,
  Loading,
  MoreButton,
  NameField,
  PageHead,
  toast,
  useAction,
} from "../ui";

const memberId = (member: Member) => member.id;

export function OrganizationPage({ organizationId }: { organizationId: string }) {
  const path = `/organizations/${organizationId}`;
  const { data: organization, error, refresh } = useLive<Organization>(path);
  const members = usePages(`${path}/members`, "members", memberId);
  if (error && !organization) return <FailedPage error={error} retry={refresh} />;
  const owner = organization?.role === "owner";
  return (
    <>
      <PageHead title={organization?.name ?? "…"} part="Members" crumbs={[{ href: "/", label: "Projects" }]}>
        {organization && describeRole(organization)}
      </PageHead>
      <section class="section split">
        <h2>Members</h2>
        <div class="stack wide">
          {owner && <AddMember path={path} onAdded={members.refresh} />}
          {members.loading && <Loading rows={4} />}
          {members.error && !members.loaded && <Failed error={members.error} retry={members.refresh} />}
          <ul class="rows">
            {organization &&
              members.items.map((member) => (
                <MemberRow
                  key={member.id}
                  path={path}
                  member={member}
                  organization={organization}
                  onChanged={async () => {
                    await Promise.all([members.refresh(), refresh()]);
                  }}
                />
              ))}
          </ul>
          <MoreButton more={members.more} noun="members" />
        </div>
      </section>
      <NewOrganization />
    </>
  );
}

function describeRole(organization: Organization): string {
  if (organization.personal)
    return "Your personal organization. Members you add can see and use its projects.";
  return organization.role === "owner"
    ? "Members can see and use its projects. Owners can also manage members and delete projects."
    : "You are a member. You can see and use its projects. Owners manage members.";
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
      toast(`${member.login} is now ${role === "owner" ? "an owner" : "a member"}.`);
      await onChanged();
    });
  const remove = async () => {
    if (
      !(await confirmDialog(member.you ? leaveQuestion(organization) : removeQuestion(member, organization)))
    )
      return;
    await action.run(async () => {
      await send("DELETE", `${path}/members/${member.id}`);
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
        <p class="quiet small">{[member.name, member.provider].filter(Boolean).join(", ")}</p>
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

function leaveQuestion(organization: Organization) {
  return {
    title: `Leave ${organization.name}?`,
    body: <p>You lose access to its projects until an owner adds you again.</p>,
    action: `Leave ${organization.name}`,
  };
}

function removeQuestion(member: Member, organization: Organization) {
  return {
    title: `Remove ${member.login} from ${organization.name}?`,
    body: (
      <p>
        {member.login} loses access to its projects. Tokens that they created or copied stay valid. Revoke
        them on each project’s Tokens page.
      </p>
    ),
    action: `Remove ${member.login}`,
  };
}

interface RoleChoiceProps {
  member: Member;
  manages: boolean;
  busy: boolean;
  onChange: (role: Role) => unknown;
}

function RoleChoice({ member, manages, busy, onChange }: RoleChoiceProps) {
  if (!manages) return <span class="quiet">{member.role === "owner" ? "Owner" : "Member"}</span>;
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
      <option value="member">Member</option>
      <option value="owner">Owner</option>
    </select>
  );
}

function AddMember({ path, onAdded }: { path: string; onAdded: () => Promise<void> }) {
  const [login, setLogin] = useState("");
  const [role, setRole] = useState<Role>("member");
  const action = useAction({ inPlace: true });
  const add = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const member = await send<Member>("POST", `${path}/members`, { login: login.trim(), role });
      setLogin("");
      toast(`Added ${member.login}.`);
      await onAdded();
    });
  };
  return (
    <form class="inline-form" onSubmit={add}>
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
      <Field label="Role">
        {(field) => (
          <select {...field} value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            <option value="member">Member</option>
            <option value="owner">Owner</option>
          </select>
        )}
      </Field>
      <Button type="submit" kind="primary" busy={action.busy}>
        Add member
      </Button>
    </form>
  );
}

function NewOrganization() {
  const { organizations } = useMe();
  const me = useLive<Me>("/me");
  const [name, setName] = useState("");
  const action = useAction({ inPlace: true });
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const made = await send<Organization>("POST", "/organizations", { name: name.trim() });
      setName("");
      await me.refresh();
      toast(`Created ${made.name}. Add its members here.`);
      navigate(`/organizations/${made.id}`);
    });
  };
  return (
    <section class="section split">
      <h2>Your organizations</h2>
      <div class="stack wide">
        <ul class="links">
          {organizations.map(({ id, name: title }) => (
            <li key={id}>
              <Link href={`/organizations/${id}`}>{title}</Link>
            </li>
          ))}
        </ul>
        <form class="inline-form" onSubmit={create}>
          <NameField label="New organization" error={action.problem} value={name} onInput={setName} />
          <Button type="submit" busy={action.busy}>
            Create organization
          </Button>
        </form>
      </div>
    </section>
  );
}
