import { date } from "../lib/format";
import type { Token } from "../lib/types";

const DAY_MS = 86_400_000;
const WARN_MS = 7 * DAY_MS;

/** The choices of an end, in days. "" is none, and "date" asks for one. */
export const END_CHOICES = [
  { value: "", label: "No end date" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "date", label: "On a date" },
] as const;

/** The days from now until the end of a date like "2027-01-31", in local time; null if it isn't a date. */
export function daysUntil(day: string, now: number): number | null {
  const end = new Date(`${day}T23:59:59`).getTime();
  return Number.isNaN(end) ? null : Math.ceil((end - now) / DAY_MS);
}

export const hasEnded = ({ expires_at }: Token, now: number): boolean =>
  expires_at !== null && expires_at * 1000 <= now;

/** Whether it ends within a week. */
export const endsSoon = (token: Token, now: number): boolean =>
  token.expires_at !== null && !hasEnded(token, now) && token.expires_at * 1000 - now <= WARN_MS;

export function describeTokenEnd(token: Token, now: number): string {
  if (token.expires_at === null) return "";
  if (hasEnded(token, now)) return `Expired ${date(token.expires_at)}`;
  return endsSoon(token, now)
    ? `Expires ${date(token.expires_at)}: replace it before then`
    : `Expires ${date(token.expires_at)}`;
}
