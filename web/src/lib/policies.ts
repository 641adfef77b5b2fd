/** When images go: the choices on the settings page, in words. Pure. */

import { formatBytes, formatCount } from "./format";
import type { Policy, Project, WouldExpire } from "./types";

export const POLICIES: readonly { id: Policy; label: string; about: string }[] = [
  {
    id: "pr_close",
    label: "When the pull request closes",
    about: "Your CI tells the service that it closed, and its images are deleted at once.",
  },
  {
    id: "retain_days",
    label: "Some days after their upload",
    about: "Open or closed, an image is deleted when it has reached that age.",
  },
  {
    id: "manual",
    label: "When somebody deletes them",
    about: "Images stay until they are deleted here or through the API.",
  },
];

export const MOST_DAYS = 36_500;

export interface Choice {
  policy: Policy;
  /** As typed; empty for none. */
  days: string;
}

export function choiceOf(project: Pick<Project, "policy" | "retain_days">): Choice {
  return { policy: project.policy, days: project.retain_days === null ? "" : String(project.retain_days) };
}

/** What is wrong with it, as a sentence; undefined if nothing is. */
export function wrongDays({ policy, days }: Choice): string | undefined {
  const typed = days.trim();
  if (typed === "") return policy === "retain_days" ? "Say after how many days." : undefined;
  const count = Number(typed);
  if (/^\d+$/.test(typed) && count >= 1 && count <= MOST_DAYS) return undefined;
  return "Give a whole number of days, at least 1.";
}

export function retainDays({ days }: Choice): number | null {
  return days.trim() === "" ? null : Number(days);
}

export function sameChoice(one: Choice, other: Choice): boolean {
  return one.policy === other.policy && retainDays(one) === retainDays(other);
}

export function wouldExpirePath(projectId: string, choice: Choice): string {
  const query = new URLSearchParams({ policy: choice.policy });
  const days = retainDays(choice);
  if (days !== null) query.set("retain_days", String(days));
  return `/projects/${projectId}/would-expire?${query}`;
}

export function wouldExpireInWords({ images, bytes }: WouldExpire): string {
  if (images === 0) return "With this, no image would go now.";
  return `With this, ${formatCount(images, "image")} (${formatBytes(bytes)}) would go now, for good.`;
}
