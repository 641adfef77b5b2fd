import { describe, expect, it } from "vitest";
import vectors from "../../../tests/vectors/sizes.json";
import { ago, formatBytes, formatCount, shortSha } from "./format";

describe("formatBytes", () => {
  it.each(vectors.sizes)("formats $bytes bytes as $words", ({ bytes, words }) => {
    expect(formatBytes(bytes)).toBe(words);
  });
});

describe("formatCount", () => {
  it("uses the singular for 1, and groups thousands", () => {
    expect(formatCount(0, "screenshot")).toBe("0 screenshots");
    expect(formatCount(1, "screenshot")).toBe("1 screenshot");
    expect(formatCount(1204, "screenshot")).toBe("1,204 screenshots");
  });

  it("accepts an irregular plural", () => {
    expect(formatCount(2, "entry", "entries")).toBe("2 entries");
  });
});

describe("ago", () => {
  const now = 1_800_000_000;
  it.each([
    [-30, "just now"], // the server's clock is ahead
    [59, "just now"],
    [60, "1 min ago"],
    [3_599, "59 min ago"],
    [3_600, "1 h ago"],
    [86_399, "23 h ago"],
    [86_400, "yesterday"],
    [2 * 86_400, "2 days ago"],
    [29 * 86_400, "29 days ago"],
  ])("formats %d seconds as %s", (seconds, words) => {
    expect(ago(now - seconds, now * 1000)).toBe(words);
  });

  it("shows the date for older times", () => {
    expect(ago(now - 31 * 86_400, now * 1000)).toMatch(/^\d+ \w+ 20\d\d$/);
  });
});

it("shortens a commit to seven characters", () => {
  expect(shortSha("0123456789abcdef0123456789abcdef01234567")).toBe("0123456");
});
