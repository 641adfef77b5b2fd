import { describe, expect, it } from "vitest";
import { describeProblem, loginUrl, returnPath } from "./sign-in-urls";

describe("returnPath", () => {
  it("returns to a page of the dashboard", () => {
    expect(returnPath("/projects/7?state=open")).toBe("/projects/7?state=open");
  });

  it.each([
    null,
    "",
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "javascript:alert(1)",
    "/sign-in?problem=denied",
  ])("goes to the projects instead of %s", (asked) => {
    expect(returnPath(asked)).toBe("/");
  });
});

it("has a sentence for each known and unknown problem", () => {
  expect(describeProblem(null)).toBeUndefined();
  expect(describeProblem("other_browser")).toContain("another browser");
  expect(describeProblem("<b>")).toBe("The sign-in failed. Start again.");
});

it("starts a sign-in at the dashboard's own address", () => {
  expect(loginUrl("https://shots.example", "github", "/projects/7?q=a b")).toBe(
    "https://shots.example/auth/login/github?return_to=%2Fprojects%2F7%3Fq%3Da+b",
  );
});
