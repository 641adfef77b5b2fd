import { ROLE_TEXTS, ROLES } from "../lib/roles";
import type { Role } from "../lib/types";
import { Field } from "../ui";

export const RoleOptions = () => (
  <>
    {ROLES.map((role) => (
      <option key={role} value={role}>
        {ROLE_TEXTS[role].label}
      </option>
    ))}
  </>
);

/** Chooses the role of a person, a link or a group. */
export function RoleField({ role, onChange }: { role: Role; onChange: (role: Role) => void }) {
  return (
    <Field label="Role">
      {(field) => (
        <select {...field} value={role} onChange={(event) => onChange(event.currentTarget.value as Role)}>
          <RoleOptions />
        </select>
      )}
    </Field>
  );
}

/** What each role may do. */
export function RoleList() {
  return (
    <dl class="roles">
      {ROLES.map((role) => (
        <div key={role}>
          <dt>{ROLE_TEXTS[role].label}</dt>
          <dd>{ROLE_TEXTS[role].may}</dd>
        </div>
      ))}
    </dl>
  );
}
