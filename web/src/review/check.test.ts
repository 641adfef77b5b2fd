import { expect, test } from "vitest";
import type { Check } from "../lib/types";
import { describeCheck } from "./check";

const sent: Check = { state: "sent", forge: "github", error: "", posted: "success", description: "" };

test.each<[Partial<Check>, string]>([
  [{ state: "none", forge: null, posted: "" }, "Run the job again to update the check."],
  [{}, "The check on GitHub is green."],
  [{ forge: "gitea" }, "The check on the forge is green."],
  [{ state: "waiting", forge: "gitlab", posted: "" }, "The check on GitLab is being updated."],
  [
    { state: "failing", posted: "", error: "GitHub refused the token: it is wrong. Use another one" },
    "The check on GitHub was not updated: GitHub refused the token: it is wrong.",
  ],
  [
    { posted: "pending", description: "web: 2 screenshots to review" },
    "The check on GitHub is pending: web: 2 screenshots to review",
  ],
  [
    { posted: "failure", description: "web: 1 screenshot rejected" },
    "The check on GitHub is red: web: 1 screenshot rejected",
  ],
])("%j says what is known", (known, words) => {
  expect(describeCheck({ ...sent, ...known })).toBe(words);
});
