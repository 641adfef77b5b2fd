/** The parts of the settings page with one field each: repository, baselines, upload limit. */
import type { ComponentChild, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { formatNumber } from "../lib/format";
import { useMe } from "../lib/me";
import type { Project } from "../lib/types";
import { Button, Field, type FieldAttributes, toast, useAction } from "../ui";

/** What each part of the settings page gets. */
export interface ProjectSettingProps {
  project: Project;
  onSaved: () => Promise<void>;
}

interface SettingProps extends ProjectSettingProps {
  title: string;
  label: string;
  hint: ComponentChildren;
  /** The setting as it is, as text. */
  now: string;
  /** What to send; undefined if the text is not valid. */
  change: (text: string) => Partial<Project> | undefined;
  /** What is wrong with a text that is not valid. */
  invalidText?: string;
  saved: string;
  children: (attributes: FieldAttributes, text: string, onInput: (text: string) => void) => ComponentChild;
}

/** One setting with its own button. */
function Setting(props: SettingProps) {
  const { project, onSaved, title, label, hint, now, change, invalidText, saved, children } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const act = useAction({ inPlace: true });
  const text = typed ?? now;
  const wanted = change(text.trim());
  const unchanged = text.trim() === now;
  const save = (event: Event) => {
    event.preventDefault();
    if (unchanged || !wanted) return;
    void act.run(async () => {
      await send("PATCH", `/projects/${project.id}`, wanted);
      await onSaved();
      setTyped(null);
      toast(saved);
    });
  };
  return (
    <section class="section split">
      <h2>{title}</h2>
      <form class="stack" onSubmit={save} noValidate>
        <Field label={label} hint={hint} error={wanted ? act.problem : invalidText}>
          {(field) => children(field, text, setTyped)}
        </Field>
        <p>
          <Button type="submit" kind="primary" busy={act.busy} disabled={unchanged || !wanted}>
            Save {title.toLowerCase()}
          </Button>
        </p>
      </form>
    </section>
  );
}

export function Repository(props: ProjectSettingProps) {
  return (
    <Setting
      {...props}
      title="Repository"
      label="Repository address (optional)"
      hint="Pull requests link to it. The first upload fills it in."
      now={props.project.repository}
      change={(repository) => ({ repository })}
      saved="Saved the repository address."
    >
      {(field, text, onInput) => (
        <input
          {...field}
          type="url"
          value={text}
          placeholder="https://github.com/acme/shop"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Setting>
  );
}

export function Baselines(props: ProjectSettingProps) {
  return (
    <Setting
      {...props}
      title="Baselines"
      label="Commits to keep per branch"
      hint="Older commits lose their baselines, except the newest of each shot and those that an open pull request shows. The retention of images does not apply to baselines."
      now={String(props.project.keep_baselines)}
      change={(text) => (/^\d{1,9}$/.test(text) ? { keep_baselines: Number(text) } : undefined)}
      invalidText="Enter a whole number."
      saved="Saved how many baselines to keep."
    >
      {(field, text, onInput) => (
        <input
          {...field}
          class="days"
          type="number"
          inputMode="numeric"
          min={1}
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Setting>
  );
}

const MOST_UPLOADS = 10_000;

function limitFrom(text: string): Partial<Project> | undefined {
  if (text === "") return { uploads_per_minute: null };
  const limit = Number(text);
  const isValid = /^\d+$/.test(text) && limit >= 1 && limit <= MOST_UPLOADS;
  return isValid ? { uploads_per_minute: limit } : undefined;
}

export function UploadLimit(props: ProjectSettingProps) {
  const limit = props.project.uploads_per_minute;
  const ofService = formatNumber(useMe().service.uploads_per_minute);
  return (
    <Setting
      {...props}
      title="Upload limit"
      label="Uploads per minute (optional)"
      hint={`Further uploads wait. Leave empty for the service's limit: ${ofService} per minute.`}
      now={limit === null ? "" : String(limit)}
      change={limitFrom}
      invalidText={`Enter a whole number from 1 to ${formatNumber(MOST_UPLOADS)}.`}
      saved="Saved the upload limit."
    >
      {(field, text, onInput) => (
        <input
          {...field}
          class="days"
          type="number"
          inputMode="numeric"
          min={1}
          max={MOST_UPLOADS}
          value={text}
          placeholder={ofService}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Setting>
  );
}
