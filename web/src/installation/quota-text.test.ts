import { expect, test } from "vitest";
import { describeQuota, parseQuota, quotaText } from "./quota-text";

test("parses sizes, the default and no limit", () => {
  const parsed = ["", "none", "0", "4096", "20GB", "1.5 tb", "2 kb"].map(parseQuota);
  expect(parsed).toEqual([null, 0, 0, 4096, 20 * 1024 ** 3, 1.5 * 1024 ** 4, 2048]);
  expect(["-1", "20 apples", "GB", "1e9", "0.1"].map(parseQuota)).toEqual(Array(5).fill(undefined));
});

test("writes quotas so that they parse to the same number", () => {
  for (const bytes of [null, 0, 1, 1023, 1025, 20 * 1024 ** 3, 123_456_789])
    expect(parseQuota(quotaText(bytes))).toBe(bytes);
});

test("says which quota is the default", () => {
  expect(describeQuota(null, 0)).toBe("no limit (default)");
  expect(describeQuota(2048, 0)).toBe("2 KB");
});
