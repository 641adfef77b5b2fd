import { describe, expect, it } from "vitest";
import { ago, formatBytes, formatCount, shortSha } from "./format";

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [1234, "1.2 kB"],
    [9_949, "9.9 kB"],
    [9_950, "10 kB"],
    [48_300, "48 kB"],
    [999_499, "999 kB"],
    [999_500, "1.0 MB"],
    [5_242_880, "5.2 MB"],
    [126_510_333, "127 MB"],
    [3_200_000_000, "3.2 GB"],
    [12_345_000_000_000_000, "12345 TB"],
  ])("formats %d bytes as %s", (bytes, words) => {
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
