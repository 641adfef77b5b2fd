import { expect, test } from "vitest";
import { heading, openLabel } from "./pull-labels";

test("a pull request without a title is its number", () => {
  expect(heading(4, "")).toBe("#4");
  expect(heading(4, "Fix the cart")).toBe("#4 Fix the cart");
});

test("the link names the forge if its host does", () => {
  expect(openLabel("https://github.com/a/b/pull/4")).toBe("Open on GitHub");
  expect(openLabel("https://gitlab.example.com/a/b/-/merge_requests/4")).toBe("Open on GitLab");
  expect(openLabel("https://my-gitea.example.com/a/b/pulls/4")).toBe("Open on Gitea");
  expect(openLabel("https://git.example.com/github/b/pulls/4")).toBe("Open pull request");
  expect(openLabel("nonsense")).toBe("Open pull request");
});
