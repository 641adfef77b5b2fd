import { send } from "../lib/api";
import { useMe } from "../lib/me";
import { refreshShown } from "../lib/poller";
import { ROLE_TEXTS } from "../lib/roles";
import type { Invitation } from "../lib/types";
import { Button, Time, toast, useAction } from "../ui";

/** The organizations that the user is invited to join. Nothing if there are none. */
export function Invitations() {
  const { invitations } = useMe();
  if (invitations.length === 0) return null;
  return (
    <section aria-label="Invitations">
      <ul class="rows invitations">
        {invitations.map((invitation) => (
          <InvitationRow key={invitation.organization.id} invitation={invitation} />
        ))}
      </ul>
    </section>
  );
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const { organization, user, role, invited_by, created_at } = invitation;
  const members = `/organizations/${organization.id}/members`;
  const action = useAction();
  const answer = (method: "POST" | "DELETE", address: string, done: string) =>
    action.run(async () => {
      await send(method, address);
      toast(done);
      refreshShown();
    });
  return (
    <li class="row spread">
      <div class="row-main">
        <h2 class="row-title">
          {invited_by} invites you to {organization.name}
        </h2>
        <p class="quiet small">
          As {ROLE_TEXTS[role].one}, <Time at={created_at} />
        </p>
      </div>
      <div class="row-actions">
        <Button
          kind="primary"
          busy={action.busy}
          aria-label={`Join ${organization.name}`}
          onClick={() => answer("POST", members, `You joined ${organization.name}.`)}
        >
          Join
        </Button>
        <Button
          busy={action.busy}
          aria-label={`Decline the invitation to ${organization.name}`}
          onClick={() => answer("DELETE", `${members}/${user.id}`, "Invitation declined.")}
        >
          Decline
        </Button>
      </div>
    </li>
  );
}
