import { expect, it } from "vitest";
import { signInPath, toSentence } from "./api";
import { pause } from "./poller";

it("turns API messages into sentences", () => {
  expect(toSentence("not found")).toBe("Not found.");
  expect(toSentence("Try again.")).toBe("Try again.");
});

it("remembers the page to return to after sign-in", () => {
  expect(signInPath("/")).toBe("/sign-in");
  expect(signInPath("/projects/7?q=a")).toBe("/sign-in?return_to=%2Fprojects%2F7%3Fq%3Da");
});

it("polls every 3 s, and more slowly while polling fails", () => {
  expect([0, 1, 2, 9].map((failures) => pause(failures))).toEqual([3000, 6000, 10000, 10000]);
  expect([0, 1, 9].map((failures) => pause(failures, 15_000))).toEqual([15_000, 6_000, 10_000]);
});
