import { expect, test } from "vitest";
import { fillDays } from "./measured-days";

const NOW = Date.UTC(2026, 10, 15, 12);

test("shows each day up to today", () => {
  expect(fillDays([{ day: "2026-11-14", bytes: 5 }], 3, NOW)).toEqual([
    { label: "13 Nov", bytes: 0 },
    { label: "14 Nov", bytes: 5 },
    { label: "15 Nov", bytes: 0 },
  ]);
});

test("shows the last measurement of each week of a long period", () => {
  const bars = fillDays(
    [
      { day: "2026-11-12", bytes: 5 },
      { day: "2026-11-13", bytes: 6 },
    ],
    364,
    NOW,
  );
  expect(bars).toHaveLength(52);
  expect(bars.at(-1)).toEqual({ label: "13 Nov", bytes: 6 });
});
