import type { Member, MemberToken, Organization } from "../lib/types";
import { Mono, Time } from "../ui";

export function leaveQuestion(organization: Organization) {
  return {
    title: `Leave ${organization.name}?`,
    body: (
      <p>
        You lose access to its projects until you are invited again, or sign in while in one of its groups.
      </p>
    ),
    action: `Leave ${organization.name}`,
  };
}

export function removeQuestion(member: Member, organization: Organization) {
  return {
    title: `Remove ${member.login} from ${organization.name}?`,
    body: (
      <p>
        {member.login} loses access to its projects
        {member.from_group &&
          " until they sign in again, or for good if they leave the group or you remove it"}
        . Trusts and tokens that others created stay valid: if they copied a token or added a trust, check
        each project’s Tokens page.
        {member.role === "maintainer" && " Their share links end."}
        {member.role === "owner" &&
          " Their invitations, invitation links and share links end. Groups that they added stay."}
      </p>
    ),
    action: `Remove ${member.login}`,
  };
}

interface TokensToRevokeProps {
  tokens: MemberToken[];
  /** Undefined if the user may not keep them. */
  onKeep: ((keep: boolean) => void) | undefined;
}

export function TokensToRevoke({ tokens, onKeep }: TokensToRevokeProps) {
  if (tokens.length === 0) return null;
  return (
    <>
      <p>CI jobs with these tokens can no longer upload:</p>
      <ul class="tokens-to-revoke">
        {tokens.map(({ id, project, label, hint, last_used_at }) => (
          <li key={id}>
            {project}: {label} <Mono>{hint}</Mono>{" "}
            <span class="quiet small">
              {last_used_at === null ? (
                "never used"
              ) : (
                <>
                  last used <Time at={last_used_at} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
      {onKeep && (
        <label class="check">
          <input type="checkbox" onChange={(event) => onKeep(event.currentTarget.checked)} /> Keep these
          tokens
        </label>
      )}
    </>
  );
}
