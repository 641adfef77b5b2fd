import { useState } from "preact/hooks";
import { get, send } from "../lib/api";
import { formatCount } from "../lib/format";
import { useLive } from "../lib/live";
import type { Policy, Project, WouldExpire } from "../lib/types";
import { Button, confirmDialog, Field, toast, useAction } from "../ui";
import {
  choiceOf,
  describeWouldExpire,
  isSameChoice,
  MOST_DAYS,
  POLICIES,
  type RetentionChoice,
  retainDays,
  validateDays,
  wouldExpirePath,
} from "./retention-choice";
import type { ProjectSettingProps } from "./setting-form";

/** When images are deleted. */
export function RetentionSettings({ project, onSaved }: ProjectSettingProps) {
  const [draft, setDraft] = useState<RetentionChoice | null>(null);
  const action = useAction();
  const choice = draft ?? choiceOf(project);
  const wrong = validateDays(choice);
  const changed = !isSameChoice(choice, choiceOf(project));
  const save = (event: Event) => {
    event.preventDefault();
    if (wrong || !changed) return;
    void action.run(async () => {
      if (!(await confirmDeletion(project, choice))) return;
      const body = { policy: choice.policy, retain_days: retainDays(choice) };
      await send("PATCH", `/projects/${project.id}`, body);
      await onSaved();
      setDraft(null);
      toast("Saved the retention settings.");
    });
  };
  return (
    <section class="section split">
      <h2>Image retention</h2>
      <form class="stack" onSubmit={save} noValidate>
        <PolicyChoice value={choice.policy} onChange={(policy) => setDraft({ ...choice, policy })} />
        <Days choice={choice} wrong={wrong} onInput={(days) => setDraft({ ...choice, days })} />
        {!wrong && <WouldExpireNote projectId={project.id} choice={choice} />}
        <p class="actions">
          <Button type="submit" kind="primary" busy={action.busy} disabled={!changed || wrong !== undefined}>
            Save retention
          </Button>
          {changed && <Button onClick={() => setDraft(null)}>Cancel</Button>}
        </p>
      </form>
    </section>
  );
}

/** Ask for confirmation if the change deletes images, and say how many. */
async function confirmDeletion(project: Project, choice: RetentionChoice): Promise<boolean> {
  const going = await get<WouldExpire>(wouldExpirePath(project.id, choice));
  if (going.images === 0) return true;
  return confirmDialog({
    title: `Delete ${formatCount(going.images, "image")}?`,
    body: (
      <p>
        {going.images === 1 ? "It is" : "They are"} older than the new settings allow. The next sweep, within
        the hour, deletes {going.images === 1 ? "it" : "them"} permanently. Pull request comments that show{" "}
        {going.images === 1 ? "it" : "them"} will show broken images.
      </p>
    ),
    action: `Save and delete ${formatCount(going.images, "image")}`,
  });
}

function PolicyChoice({ value, onChange }: { value: Policy; onChange: (policy: Policy) => void }) {
  return (
    <fieldset class="policies">
      <legend>Delete images</legend>
      {POLICIES.map(({ id, label, about }) => (
        <label key={id} class="policy">
          <input type="radio" name="policy" value={id} checked={id === value} onChange={() => onChange(id)} />
          <span>
            <span class="policy-label">{label}</span>
            <span class="hint">{about}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface DaysProps {
  choice: RetentionChoice;
  wrong: string | undefined;
  onInput: (days: string) => void;
}

function Days({ choice, wrong, onInput }: DaysProps) {
  const needed = choice.policy === "retain_days";
  return (
    <Field
      label={needed ? "Days" : "Maximum age in days (optional)"}
      hint={
        needed
          ? "Counted from when each image was uploaded."
          : "Deletes older images even while the pull request is open. Leave empty for no limit."
      }
      error={wrong}
    >
      {(field) => (
        <input
          {...field}
          class="days"
          type="number"
          inputMode="numeric"
          min={1}
          max={MOST_DAYS}
          value={choice.days}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function WouldExpireNote({ projectId, choice }: { projectId: string; choice: RetentionChoice }) {
  const { data, error } = useLive<WouldExpire>(wouldExpirePath(projectId, choice));
  return (
    <p class={`preview ${data && data.images > 0 ? "warning" : ""}`} role="status">
      {data && describeWouldExpire(data)}
      {!data && (error ? error.message : "Counting affected images…")}
    </p>
  );
}
