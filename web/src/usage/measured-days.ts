/** Fills a chart of measured days. Pure. */

import type { BytesOfDay } from "../lib/types";
import { shortDay } from "./upload-periods";

const DAY_MS = 86_400_000;
const DAYS_SHOWN_SINGLY = 100;

export interface MeasuredDay {
  label: string;
  bytes: number;
}

/** One bar per day up to today, or per seven days for longer periods. A day without a measurement has 0 bytes. */
export function fillDays(days: readonly BytesOfDay[], count: number, nowMs: number): MeasuredDay[] {
  const measured = new Map(days.map(({ day, bytes }) => [day, bytes]));
  const step = count > DAYS_SHOWN_SINGLY ? 7 : 1;
  const bars: MeasuredDay[] = [];
  for (let age = 0; age < count; age += step) {
    const dates = Array.from({ length: step }, (_, back) => isoDay(nowMs - (age + back) * DAY_MS));
    const last = dates.find((date) => measured.has(date)) ?? dates[0] ?? "";
    bars.unshift({ label: shortDay(last), bytes: measured.get(last) ?? 0 });
  }
  return bars;
}

const isoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
