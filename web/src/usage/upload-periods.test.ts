import { describe, expect, it } from "vitest";
import { groupDays, shortDay } from "./upload-periods";

function days(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    day: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    uploads: 1,
    bytes: 10,
  }));
}

describe("groupDays", () => {
  it("draws each day of a short period", () => {
    expect(groupDays(days(90))).toHaveLength(90);
    expect(groupDays(days(30))[0]).toEqual({ from: "2026-01-01", label: "1 Jan", uploads: 1, bytes: 10 });
  });

  it("draws whole weeks of a long period, the last one ending today", () => {
    const weeks = groupDays(days(365));
    expect(weeks).toHaveLength(52);
    expect(weeks.every((week) => week.uploads === 7 && week.bytes === 70)).toBe(true);
    expect(weeks[0]?.label).toBe("week of 2 Jan");
    expect(weeks.at(-1)?.from).toBe("2026-12-25");
  });

  it("draws nothing for no days", () => {
    expect(groupDays([])).toEqual([]);
  });
});

it("names the server's day in any time zone", () => {
  expect(shortDay("2026-11-05")).toBe("5 Nov");
});
