import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { Project } from "../lib/types";
import { Button, Field, toast, useAction } from "../ui";

export interface ProjectSettingProps {
  project: Project;
  onSaved: () => Promise<void>;
}

interface SettingFormProps extends ProjectSettingProps {
  title: string;
  label: string;
  hint: ComponentChildren;
  /** The saved value, as text. */
  current: string;
  /** What to send; undefined if the text is invalid. */
  change: (text: string) => Partial<Project> | undefined;
  /** Shown if the text is invalid. */
  invalid?: string;
  /** Shown after saving. */
  saved: string;
  input: InputHTMLAttributes<HTMLInputElement>;
}

/** One setting with its own Save button. */
export function SettingForm(props: SettingFormProps) {
  const { project, onSaved, title, label, hint, current, change, invalid, saved, input } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const action = useAction({ inPlace: true });
  const text = typed ?? current;
  const body = change(text.trim());
  const unchanged = text.trim() === current;
  const save = (event: Event) => {
    event.preventDefault();
    if (unchanged || !body) return;
    void action.run(async () => {
      await send("PATCH", `/projects/${project.id}`, body);
      await onSaved();
      setTyped(null);
      toast(saved);
    });
  };
  return (
    <section class="section split">
      <h2>{title}</h2>
      <form class="stack" onSubmit={save} noValidate>
        <Field label={label} hint={hint} error={body ? action.problem : invalid}>
          {(field) => (
            <input
              {...field}
              {...input}
              value={text}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        <p>
          <Button type="submit" kind="primary" busy={action.busy} disabled={unchanged || !body}>
            Save {title.toLowerCase()}
          </Button>
        </p>
      </form>
    </section>
  );
}
