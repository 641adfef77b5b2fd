import { describe, expect, it } from "vitest";
import {
  choiceOf,
  describeWouldExpire,
  isSameChoice,
  validateDays,
  wouldExpirePath,
} from "./retention-choice";

describe("validateDays", () => {
  it("requires days for the retain_days policy", () => {
    expect(validateDays({ policy: "retain_days", days: " " })).toBe("Enter the number of days.");
    expect(validateDays({ policy: "pr_close", days: "" })).toBeUndefined();
  });

  it.each(["0", "-3", "1.5", "1e3", "ten", "36501"])("refuses %s", (days) => {
    expect(validateDays({ policy: "manual", days })).toMatch(/whole number/);
  });

  it.each(["1", "30", "36500"])("accepts %s", (days) => {
    expect(validateDays({ policy: "retain_days", days })).toBeUndefined();
  });
});

it("recognizes an unchanged choice in any spelling", () => {
  const choice = choiceOf({ policy: "pr_close", retain_days: 30 });
  expect(isSameChoice(choice, { policy: "pr_close", days: "030" })).toBe(true);
  expect(isSameChoice(choice, { policy: "pr_close", days: "" })).toBe(false);
  expect(isSameChoice(choice, { policy: "manual", days: "30" })).toBe(false);
});

it("omits retain_days from the request if no days are set", () => {
  expect(wouldExpirePath("7", { policy: "manual", days: "" })).toBe("/projects/7/would-expire?policy=manual");
  expect(wouldExpirePath("7", { policy: "manual", days: "9" })).toMatch(/policy=manual&retain_days=9$/);
});

it("describes what would be deleted", () => {
  expect(describeWouldExpire({ images: 0, bytes: 0 })).toBe("No images are affected now.");
  expect(describeWouldExpire({ images: 1, bytes: 2048 })).toContain(
    "1 image (2 KB) will be deleted within the hour",
  );
});
