/** Which changes need a decision, and who may approve them. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { capitalize } from "../lib/format";
import { Button, toast, useAction } from "../ui";
import type { ProjectSettingProps } from "./setting-form";

const REVIEWABLE = ["changed", "moved", "removed", "new"];

export function ReviewSettings({ project, onSaved }: ProjectSettingProps) {
  const saved = { review_verdicts: project.review_verdicts, four_eyes: project.four_eyes };
  const [draft, setDraft] = useState<typeof saved | null>(null);
  const action = useAction();
  const { review_verdicts: verdicts, four_eyes } = draft ?? saved;
  const save = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await send("PATCH", `/projects/${project.id}`, { review_verdicts: verdicts, four_eyes });
      await onSaved();
      setDraft(null);
      toast("Saved the review settings.");
    });
  };
  const toggle = (verdict: string, isOn: boolean) =>
    setDraft({
      four_eyes,
      review_verdicts: REVIEWABLE.filter((each) => (each === verdict ? isOn : verdicts.includes(each))),
    });
  return (
    <section class="section split" id="review">
      <h2>Review</h2>
      <form class="stack" onSubmit={save}>
        <fieldset class="policies">
          <legend>Screenshots that need a decision</legend>
          {REVIEWABLE.map((verdict) => (
            <label key={verdict} class="policy">
              <input
                type="checkbox"
                checked={verdicts.includes(verdict)}
                onChange={({ currentTarget }) => toggle(verdict, currentTarget.checked)}
              />
              <span class="policy-label">{capitalize(verdict)}</span>
            </label>
          ))}
        </fieldset>
        <label class="policy">
          <input
            type="checkbox"
            checked={four_eyes}
            onChange={({ currentTarget }) =>
              setDraft({ review_verdicts: verdicts, four_eyes: currentTarget.checked })
            }
          />
          <span>
            <span class="policy-label">Four eyes</span>
            <span class="hint">The author of a pull request can’t approve it.</span>
          </span>
        </label>
        <p class="actions">
          <Button type="submit" kind="primary" busy={action.busy} disabled={draft === null}>
            Save review settings
          </Button>
        </p>
      </form>
    </section>
  );
}
