/** How long an image is kept under its project's retention. */
import type { Image, Project, PullRequest } from "../lib/types";

const DAY = 86_400;

interface Lifetime {
  /** What deletes it before `until`. */
  event: "close" | "closed" | "nothing";
  /** Unix seconds: when it is deleted or its link expires. */
  until: number;
  /** Whether `retain_days` sets that time. If not, the signed link does. */
  retained: boolean;
}

export function computeLifetime(
  image: Pick<Image, "uploaded_at" | "url">,
  pull: Pick<PullRequest, "closed_at">,
  project: Pick<Project, "policy" | "retain_days">,
): Lifetime {
  const linkEnds = readLinkExpiry(image.url) ?? image.uploaded_at + 365 * DAY;
  const retention = project.retain_days === null ? Infinity : image.uploaded_at + project.retain_days * DAY;
  return {
    event: project.policy !== "pr_close" ? "nothing" : pull.closed_at === null ? "close" : "closed",
    until: Math.min(linkEnds, retention),
    retained: retention <= linkEnds,
  };
}

function readLinkExpiry(url: string): number | null {
  const exp = new URL(url, "http://localhost").searchParams.get("exp");
  return exp && /^\d+$/.test(exp) ? Number(exp) : null;
}

export function describeLifetime(
  { event, until, retained }: Lifetime,
  day: (time: number) => string,
): string {
  if (event === "closed") return "Soon, because the pull request closed";
  if (event === "close") return `When the pull request closes, or on ${day(until)}`;
  return retained ? `On ${day(until)}` : `Never; the link expires on ${day(until)}`;
}
