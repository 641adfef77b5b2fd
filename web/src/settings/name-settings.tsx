/** The project's name and its repository. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { Project } from "../lib/types";
import { Button, NameField, toast, useAction } from "../ui";
import { type ProjectSettingProps, SettingForm } from "./setting-form";

export function NameSettings({ project, onSaved }: ProjectSettingProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const action = useAction({ inPlace: true });
  const name = typed ?? project.name;
  const unchanged = name.trim() === project.name;
  const save = (event: Event) => {
    event.preventDefault();
    if (unchanged) return;
    void action.run(async () => {
      const saved = await send<Project>("PATCH", `/projects/${project.id}`, { name: name.trim() });
      await onSaved();
      setTyped(null);
      toast(`Renamed the project to ${saved.name}.`);
    });
  };
  return (
    <section class="section split">
      <h2>Name</h2>
      <form class="stack" onSubmit={save}>
        <NameField
          label="Project name"
          hint="Renaming keeps all links and tokens working."
          error={action.problem}
          value={name}
          onInput={setTyped}
        />
        <p>
          <Button type="submit" kind="primary" busy={action.busy} disabled={unchanged}>
            Save name
          </Button>
        </p>
      </form>
    </section>
  );
}

export function RepositorySettings(props: ProjectSettingProps) {
  return (
    <SettingForm
      {...props}
      title="Repository"
      label="Repository address (optional)"
      hint="Pull requests link to it. The first upload fills it in."
      current={props.project.repository}
      change={(repository) => ({ repository })}
      saved="Saved the repository address."
      input={{
        type: "url",
        placeholder: "https://github.com/acme/shop",
        autocomplete: "off",
        spellcheck: false,
      }}
    />
  );
}
