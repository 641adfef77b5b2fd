/** The retention choices on the settings page. Pure. */

import { formatBytes, formatCount } from "../lib/format";
import type { Policy, Project, WouldExpire } from "../lib/types";

export const POLICIES: readonly { id: Policy; label: string; about: string }[] = [
  {
    id: "pr_close",
    label: "When the pull request closes",
    about: "Images are deleted as soon as your CI reports that the pull request closed.",
  },
  {
    id: "retain_days",
    label: "A number of days after upload",
    about: "Images are deleted at that age, whether the pull request is open or closed.",
  },
  {
    id: "manual",
    label: "Only when you delete them",
    about: "Images stay until you delete them here or through the API.",
  },
];

export const MOST_DAYS = 36_500;

export interface RetentionChoice {
  policy: Policy;
  /** As typed; empty for none. */
  days: string;
}

export function choiceOf(project: Pick<Project, "policy" | "retain_days">): RetentionChoice {
  return { policy: project.policy, days: project.retain_days === null ? "" : String(project.retain_days) };
}

/** What is wrong, as a sentence; undefined if the choice is valid. */
export function validateDays({ policy, days }: RetentionChoice): string | undefined {
  const typed = days.trim();
  if (typed === "") return policy === "retain_days" ? "Enter the number of days." : undefined;
  const count = Number(typed);
  if (/^\d+$/.test(typed) && count >= 1 && count <= MOST_DAYS) return undefined;
  return `Enter a whole number from 1 to ${MOST_DAYS}.`;
}

export function retainDays({ days }: RetentionChoice): number | null {
  return days.trim() === "" ? null : Number(days);
}

export function isSameChoice(one: RetentionChoice, other: RetentionChoice): boolean {
  return one.policy === other.policy && retainDays(one) === retainDays(other);
}

export function wouldExpirePath(projectId: string, choice: RetentionChoice): string {
  const query = new URLSearchParams({ policy: choice.policy });
  const days = retainDays(choice);
  if (days !== null) query.set("retain_days", String(days));
  return `/projects/${projectId}/would-expire?${query}`;
}

export function describeWouldExpire({ images, bytes }: WouldExpire): string {
  if (images === 0) return "No images are affected now.";
  return `If you save this, ${formatCount(images, "image")} (${formatBytes(bytes)}) will be deleted within the hour.`;
}
