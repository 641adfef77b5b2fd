import { expect, test } from "vitest";
import { computeLifetime, describeLifetime } from "./lifetime";

const DAY = 86_400;
const uploaded = { uploaded_at: 1000, url: `http://img.test/i/a.png?exp=${1000 + 365 * DAY}&token=1.aa` };
const open = { closed_at: null };
const closed = { closed_at: 2000 };
const day = (time: number) => `day ${(time - 1000) / DAY}`;

const says = (...given: Parameters<typeof computeLifetime>) =>
  describeLifetime(computeLifetime(...given), day);

test("pr_close: deleted when the pull request closes, or when the link expires", () => {
  expect(says(uploaded, open, { policy: "pr_close", retain_days: null })).toBe(
    "When the pull request closes, or on day 365",
  );
  expect(says(uploaded, closed, { policy: "pr_close", retain_days: null })).toBe(
    "Soon, because the pull request closed",
  );
});

test("retain_days applies under every policy", () => {
  expect(says(uploaded, open, { policy: "pr_close", retain_days: 30 })).toContain("or on day 30");
  expect(says(uploaded, closed, { policy: "manual", retain_days: 14 })).toBe("On day 14");
  expect(says(uploaded, open, { policy: "retain_days", retain_days: 7 })).toBe("On day 7");
});

test("manual: only the link expires", () => {
  expect(says(uploaded, closed, { policy: "manual", retain_days: null })).toContain(
    "the link expires on day 365",
  );
});

test("a retention longer than the link's lifetime shows the link's expiry", () => {
  expect(computeLifetime(uploaded, open, { policy: "manual", retain_days: 1000 })).toEqual({
    event: "nothing",
    until: 1000 + 365 * DAY,
    retained: false,
  });
});
