import { type ProjectSettingProps, SettingForm } from "./setting-form";

/** How many commits keep the baselines that pull requests are compared with. */
export function ComparisonSettings(props: ProjectSettingProps) {
  return (
    <SettingForm
      {...props}
      title="Baselines"
      label="Commits to keep per branch"
      hint="Older commits lose their baselines, except the newest baseline of each screenshot and those that an open pull request shows. Image retention does not apply to baselines."
      current={String(props.project.keep_baselines)}
      change={(text) => (/^\d{1,9}$/.test(text) ? { keep_baselines: Number(text) } : undefined)}
      invalid="Enter a whole number."
      saved="Saved how many baselines to keep."
      input={{ class: "days", type: "number", inputMode: "numeric", min: 1 }}
    />
  );
}
