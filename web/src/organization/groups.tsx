/** Groups of login providers whose people are members. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { useLive } from "../lib/live";
import { ROLE_TEXTS } from "../lib/roles";
import type { Group, GroupList, Role } from "../lib/types";
import { Button, confirmDialog, Failed, Field, Loading, Mono, Time, toast, useAction } from "../ui";
import { RoleField } from "./role-field";

export function Groups({ path }: { path: string }) {
  const list = `${path}/groups`;
  const { data, error, refresh } = useLive<GroupList>(list);
  return (
    <section class="section split">
      <h2>Groups</h2>
      <div class="stack wide">
        <p class="quiet">
          Everyone in a group that you add becomes a member when they sign in. People who leave the group lose
          access at their next sign-in.
        </p>
        {!data && (error ? <Failed error={error} retry={refresh} /> : <Loading rows={1} />)}
        {data && data.yours.length > 0 && <NameGroup list={list} yours={data.yours} onNamed={refresh} />}
        <p class="quiet small">
          You can add the groups that you were in when you last signed in. If one is missing, sign out and in
          again.
          {data?.yours.length === 0 && " Your login provider reported none."}
        </p>
        <ul class="rows">
          {data?.groups.map((group) => (
            <GroupRow key={`${group.provider}:${group.name}`} group={group} list={list} onRemoved={refresh} />
          ))}
        </ul>
      </div>
    </section>
  );
}

interface NameGroupProps {
  list: string;
  yours: string[];
  onNamed: () => Promise<void>;
}

function NameGroup({ list, yours, onNamed }: NameGroupProps) {
  const [name, setName] = useState(yours[0] ?? "");
  const [role, setRole] = useState<Role>("reviewer");
  const action = useAction({ inPlace: true });
  const add = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await send<Group>("POST", list, { name, role });
      toast(`Added ${name}. Its people join when they sign in.`);
      await onNamed();
    });
  };
  return (
    <form class="inline-form" onSubmit={add}>
      <Field label="Group" error={action.problem}>
        {(field) => (
          <select {...field} value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {yours.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        )}
      </Field>
      <RoleField role={role} onChange={setRole} />
      <Button type="submit" busy={action.busy}>
        Add group
      </Button>
    </form>
  );
}

interface GroupRowProps {
  group: Group;
  list: string;
  onRemoved: () => Promise<void>;
}

function GroupRow({ group, list, onRemoved }: GroupRowProps) {
  const { provider, name, role, created_by, created_at } = group;
  const action = useAction();
  const remove = async () => {
    const question = {
      title: `Remove ${name}?`,
      body: (
        <p>
          Its people stay members until they sign in again. To end their access now, remove them from the
          members.
        </p>
      ),
      action: "Remove group",
    };
    if (!(await confirmDialog(question))) return;
    await action.run(async () => {
      await send("DELETE", `${list}?${new URLSearchParams({ provider, name })}`);
      toast(`Removed ${name}.`);
      await onRemoved();
    });
  };
  return (
    <li class="row spread">
      <div class="row-main">
        <h3 class="row-title">
          <Mono>{name}</Mono>
        </h3>
        <p class="quiet small">
          {provider}. Added by {created_by} <Time at={created_at} />
        </p>
      </div>
      <div class="row-actions">
        <span class="quiet">{ROLE_TEXTS[role].label}</span>
        <Button busy={action.busy} onClick={remove} aria-label={`Remove ${name}`}>
          Remove
        </Button>
      </div>
    </li>
  );
}
