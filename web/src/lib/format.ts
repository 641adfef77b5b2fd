/** Numbers and times for people. Pure. */

const COUNT = new Intl.NumberFormat("en-US");
const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** 5 MB, 1.2 KB, 340 B. As in the upload limit, 1 MB is 1024 * 1024 bytes. Halves are rounded up. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.round(value) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  const tenths = Math.round(value * 10);
  return `${tenths < 100 ? tenths / 10 : Math.round(value)} ${UNITS[unit]}`;
}

export function formatNumber(value: number): string {
  return COUNT.format(value);
}

/** "1 screenshot", "1,204 screenshots". */
export function formatCount(count: number, noun: string, plural = `${noun}s`): string {
  return `${COUNT.format(count)} ${count === 1 ? noun : plural}`;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "just now", "5 min ago", "3 h ago", "yesterday", "12 days ago", then the date. */
export function ago(unix: number, nowMs: number): string {
  const seconds = Math.max(0, nowMs / 1000 - unix);
  if (seconds < MINUTE) return "just now";
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min ago`;
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h ago`;
  if (seconds < 2 * DAY) return "yesterday";
  if (seconds < 30 * DAY) return `${Math.floor(seconds / DAY)} days ago`;
  return date(unix);
}

/** When a delivery to the forge is repeated. null: prshots gave up. */
export function describeRetry(at: number | null, nowMs = Date.now()): string {
  if (at === null) return "prshots gave up. The next decision or comparison tries again.";
  const minutes = Math.max(1, Math.ceil((at - nowMs / 1000) / MINUTE));
  return `Next attempt in ${minutes} min or less.`;
}

/** "15 Nov 2026", in the reader's time zone unless another is given. */
export function date(unix: number, timeZone?: string): string {
  return new Date(unix * 1000).toLocaleDateString("en-GB", {
    timeZone,
    day: "numeric",
    month: "short",
    year: "numeric",
  });
}

/** "15 Nov 2026, 14:05", in the reader's time zone unless another is given. */
export function dateTime(unix: number, timeZone?: string): string {
  const shown = { timeZone, hour: "2-digit", minute: "2-digit" } as const;
  return `${date(unix, timeZone)}, ${new Date(unix * 1000).toLocaleTimeString("en-GB", shown)}`;
}

export function shortSha(sha: string): string {
  return sha.slice(0, 7);
}

/** Either SHA may be a prefix of the other, in upper or lower case. */
export function isSameCommit(one: string, other: string): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.startsWith(b) || b.startsWith(a);
}

export const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
