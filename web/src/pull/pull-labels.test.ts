import { expect, test } from "vitest";
import { forgeLinkLabel, pullHeading } from "./pull-labels";

test("a pull request without a title is its number", () => {
  expect(pullHeading(4, "")).toBe("#4");
  expect(pullHeading(4, "Fix the cart")).toBe("#4 Fix the cart");
});

test("the link names the forge if its host does", () => {
  expect(forgeLinkLabel("https://github.com/a/b/pull/4")).toBe("Open on GitHub");
  expect(forgeLinkLabel("https://gitlab.example.com/a/b/-/merge_requests/4")).toBe("Open on GitLab");
  expect(forgeLinkLabel("https://my-gitea.example.com/a/b/pulls/4")).toBe("Open on Gitea");
  expect(forgeLinkLabel("https://git.example.com/github/b/pulls/4")).toBe("Open pull request");
  expect(forgeLinkLabel("nonsense")).toBe("Open pull request");
});
