import { describe, expect, it } from "vitest";
import { shortDay, spans } from "./usage";

function days(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    day: new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    uploads: 1,
    bytes: 10,
  }));
}

describe("spans", () => {
  it("draws each day of a short time", () => {
    expect(spans(days(90))).toHaveLength(90);
    expect(spans(days(30))[0]).toEqual({ from: "2026-01-01", label: "1 Jan", uploads: 1, bytes: 10 });
  });

  it("draws weeks of a long one, whole ones, with today in the last", () => {
    const weeks = spans(days(365));
    expect(weeks).toHaveLength(52);
    expect(weeks.every((week) => week.uploads === 7 && week.bytes === 70)).toBe(true);
    expect(weeks[0]?.label).toBe("week of 2 Jan");
    expect(weeks.at(-1)?.from).toBe("2026-12-25");
  });

  it("has nothing to draw of nothing", () => {
    expect(spans([])).toEqual([]);
  });
});

it("names a day as the server counts it, in whatever time zone", () => {
  expect(shortDay("2026-11-05")).toBe("5 Nov");
});
