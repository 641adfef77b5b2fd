import { expect, test } from "vitest";
import { lifetime, lifetimeSentence } from "./lifetime";

const DAY = 86_400;
const uploaded = { uploaded_at: 1000, url: `http://img.test/i/a.png?exp=${1000 + 365 * DAY}&token=1.aa` };
const open = { closed_at: null };
const closed = { closed_at: 2000 };
const day = (time: number) => `on day ${(time - 1000) / DAY}`;

const says = (...given: Parameters<typeof lifetime>) => lifetimeSentence(lifetime(...given), day);

test("pr_close: with the pull request, and its link's end at the latest", () => {
  expect(says(uploaded, open, { policy: "pr_close", retain_days: null })).toBe(
    "When the pull request closes, on day 365 at the latest",
  );
  expect(says(uploaded, closed, { policy: "pr_close", retain_days: null })).toBe(
    "Soon: the pull request has closed",
  );
});

test("retain_days holds under every policy", () => {
  expect(says(uploaded, open, { policy: "pr_close", retain_days: 30 })).toContain("on day 30 at the latest");
  expect(says(uploaded, closed, { policy: "manual", retain_days: 14 })).toBe("on day 14");
  expect(says(uploaded, open, { policy: "retain_days", retain_days: 7 })).toBe("on day 7");
});

test("manual: only the link ends", () => {
  expect(says(uploaded, closed, { policy: "manual", retain_days: null })).toContain(
    "its link ends on day 365",
  );
});

test("a longer retention than the link's life does not promise more than the link", () => {
  expect(lifetime(uploaded, open, { policy: "manual", retain_days: 1000 })).toEqual({
    event: "nothing",
    until: 1000 + 365 * DAY,
    retained: false,
  });
});
