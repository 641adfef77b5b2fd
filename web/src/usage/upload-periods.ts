/** Groups days of uploads into the bars of a chart. Pure. */

import type { DayOfUploads } from "../lib/types";

export interface UploadPeriod {
  /** Its first day, like 2026-11-15. */
  from: string;
  /** "15 Nov", or "week of 9 Nov". */
  label: string;
  uploads: number;
  bytes: number;
}

const DAYS_SHOWN_SINGLY = 100;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** One bar per day, or per seven days for longer periods, counted back from today. */
export function groupDays(days: readonly DayOfUploads[]): UploadPeriod[] {
  const size = days.length > DAYS_SHOWN_SINGLY ? 7 : 1;
  const result: UploadPeriod[] = [];
  for (let start = days.length % size; start < days.length; start += size) {
    const part = days.slice(start, start + size);
    const from = part[0]?.day ?? "";
    result.push({
      from,
      label: size === 1 ? shortDay(from) : `week of ${shortDay(from)}`,
      uploads: sum(part, "uploads"),
      bytes: sum(part, "bytes"),
    });
  }
  return result;
}

/** "2026-11-05" as "5 Nov": the day is in UTC, and the reader's time zone must not shift it. */
export function shortDay(day: string): string {
  const [, month, date] = day.split("-").map(Number);
  return `${date} ${MONTHS[(month ?? 1) - 1]}`;
}

export function sum(days: readonly DayOfUploads[], what: "uploads" | "bytes"): number {
  return days.reduce((total, day) => total + day[what], 0);
}
