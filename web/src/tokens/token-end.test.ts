import { describe, expect, it } from "vitest";
import type { Token } from "../lib/types";
import { daysUntil, describeTokenEnd, endsSoon, hasEnded } from "./token-end";

const NOW = new Date("2027-01-01T12:00:00").getTime();
const endingIn = (seconds: number | null): Token => ({
  id: "1",
  label: "ci",
  hint: "msr_…0000",
  created_at: 0,
  created_by: "",
  last_used_at: null,
  expires_at: seconds === null ? null : NOW / 1000 + seconds,
  revoked_at: null,
  revoked_by: null,
});

describe("the end of a token", () => {
  it("warns a week before it", () => {
    expect(endsSoon(endingIn(7 * 86_400), NOW)).toBe(true);
    expect(endsSoon(endingIn(7 * 86_400 + 1), NOW)).toBe(false);
    expect(endsSoon(endingIn(0), NOW)).toBe(false);
    expect(endsSoon(endingIn(null), NOW)).toBe(false);
  });
  it("has passed from that second on", () => {
    expect(hasEnded(endingIn(0), NOW)).toBe(true);
    expect(hasEnded(endingIn(1), NOW)).toBe(false);
    expect(hasEnded(endingIn(null), NOW)).toBe(false);
  });
  it("is described", () => {
    expect(describeTokenEnd(endingIn(null), NOW)).toBe("");
    expect(describeTokenEnd(endingIn(-1), NOW)).toMatch(/^Expired /);
    expect(describeTokenEnd(endingIn(86_400), NOW)).toMatch(/: replace it before then$/);
  });
});

describe("a date", () => {
  it("counts until its end", () => {
    expect(daysUntil("2027-01-01", NOW)).toBe(1);
    expect(daysUntil("2027-01-31", NOW)).toBe(31);
    expect(daysUntil("2026-12-30", NOW)).toBeLessThan(1);
    expect(daysUntil("", NOW)).toBe(null);
  });
});
