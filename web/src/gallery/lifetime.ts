/** How long a screenshot stays, by its project's policy. */
import type { Image, Project, PullRequest } from "../lib/types";

const DAY = 86_400;

export interface Lifetime {
  /** What removes it before its last day. */
  event: "close" | "closed" | "nothing";
  /** Unix seconds: after this it is gone, or its link has ended. */
  until: number;
  /** Whether the project's `retain_days` sets that day; if not, the signature in the link does. */
  retained: boolean;
}

export function lifetime(
  image: Pick<Image, "uploaded_at" | "url">,
  pull: Pick<PullRequest, "closed_at">,
  project: Pick<Project, "policy" | "retain_days">,
): Lifetime {
  const linkEnds = signedUntil(image.url) ?? image.uploaded_at + 365 * DAY;
  const retention = project.retain_days === null ? Infinity : image.uploaded_at + project.retain_days * DAY;
  return {
    event: project.policy !== "pr_close" ? "nothing" : pull.closed_at === null ? "close" : "closed",
    until: Math.min(linkEnds, retention),
    retained: retention <= linkEnds,
  };
}

function signedUntil(url: string): number | null {
  const exp = new URL(url, "http://localhost").searchParams.get("exp");
  return exp && /^\d+$/.test(exp) ? Number(exp) : null;
}

export function lifetimeSentence(
  { event, until, retained }: Lifetime,
  day: (time: number) => string,
): string {
  if (event === "closed") return "Soon: the pull request has closed";
  if (event === "close") return `When the pull request closes, ${day(until)} at the latest`;
  return retained ? day(until) : `No day is set; its link ends ${day(until)}`;
}
