import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import { ROLE_TEXTS } from "../lib/roles";
import { Link, navigate } from "../lib/router";
import type { Me, Organization } from "../lib/types";
import { Button, confirmDialog, NameField, OrganizationHead, toast, useAction } from "../ui";
import { Groups } from "./groups";
import { InvitationLinks } from "./invitation-links";
import { Members } from "./members";

export function OrganizationPage({ organization }: { organization: Organization }) {
  return (
    <>
      <OrganizationHead organization={organization} current="members">
        {describeRole(organization)}
      </OrganizationHead>
      {!organization.personal && <Members organization={organization} />}
      {!organization.personal && organization.role === "owner" && (
        <>
          <InvitationLinks path={`/organizations/${organization.id}`} />
          <Groups path={`/organizations/${organization.id}`} />
        </>
      )}
      <YourOrganizations />
      {organization.role === "owner" && isDeletable(organization) && (
        <DeleteOrganization organization={organization} />
      )}
    </>
  );
}

/** The organization `local` owns the projects of the command line. */
const isDeletable = ({ id, personal }: Organization): boolean => !personal && id !== "local";

function describeRole(organization: Organization): string {
  if (organization.personal)
    return "Your personal organization. You’re its only member. To share projects, create an organization.";
  return `You’re ${ROLE_TEXTS[organization.role].one}.`;
}

function DeleteOrganization({ organization }: { organization: Organization }) {
  const me = useLive<Me>("/me");
  const action = useAction({ inPlace: true });
  const remove = async () => {
    const question = {
      title: `Delete ${organization.name}?`,
      body: <p>Its members and invitations are removed. You can’t undo this.</p>,
      action: "Delete organization",
    };
    if (!(await confirmDialog(question))) return;
    await action.run(async () => {
      await send("DELETE", `/organizations/${organization.id}`);
      toast(`Deleted ${organization.name}.`);
      navigate("/");
      await me.refresh();
    });
  };
  return (
    <section class="section split">
      <h2>Delete organization</h2>
      <div class="stack">
        <p class="quiet">You can delete an organization that has no projects.</p>
        <div class="actions">
          <Button kind="danger" busy={action.busy} onClick={remove}>
            Delete organization
          </Button>
        </div>
        {action.problem && (
          <p class="field-error" role="alert">
            {action.problem}
          </p>
        )}
      </div>
    </section>
  );
}

function YourOrganizations() {
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
      toast(`Created ${made.name}. Invite its members here.`);
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
