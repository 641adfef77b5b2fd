import { formatNumber } from "../lib/format";
import { useMe } from "../lib/me";
import type { Project } from "../lib/types";
import { type ProjectSettingProps, SettingForm } from "./setting-form";

const MAX_UPLOADS = 10_000;

function parseLimit(text: string): Partial<Project> | undefined {
  if (text === "") return { uploads_per_minute: null };
  const limit = Number(text);
  const isValid = /^\d+$/.test(text) && limit >= 1 && limit <= MAX_UPLOADS;
  return isValid ? { uploads_per_minute: limit } : undefined;
}

/** How many uploads per minute the project accepts. */
export function UploadSettings(props: ProjectSettingProps) {
  const limit = props.project.uploads_per_minute;
  const serviceLimit = formatNumber(useMe().service.uploads_per_minute);
  return (
    <SettingForm
      {...props}
      title="Upload limit"
      label="Uploads per minute (optional)"
      hint={`Further uploads wait. Leave empty for the service’s limit: ${serviceLimit} per minute.`}
      current={limit === null ? "" : String(limit)}
      change={parseLimit}
      invalid={`Enter a whole number from 1 to ${formatNumber(MAX_UPLOADS)}.`}
      saved="Saved the upload limit."
      input={{
        class: "days",
        type: "number",
        inputMode: "numeric",
        min: 1,
        max: MAX_UPLOADS,
        placeholder: serviceLimit,
      }}
    />
  );
}
