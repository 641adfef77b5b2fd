import { expect, test } from "vitest";
import type { PullRequest } from "../lib/types";
import { aboutOf, heading, openLabel } from "./about";

const pull: PullRequest = {
  pr_number: 4,
  images: 1,
  bytes: 1,
  last_upload_at: 1,
  last_commit: "a",
  closed_at: null,
  title: "",
  source_branch: "",
  author: "",
  url: "",
};

test("a pull request without a title is its number", () => {
  expect(heading(4, "")).toBe("#4");
  expect(heading(4, "Fix the cart")).toBe("#4 Fix the cart");
});

test("unknown facts are empty, and only a web address becomes a link", () => {
  expect(aboutOf(pull)).toEqual({ title: "", source_branch: "", author: "", url: "" });
  expect(aboutOf({ ...pull, url: "javascript:alert(1)" }).url).toBe("");
  expect(aboutOf({ ...pull, url: "https://github.com/a/b/pull/4" }).url).toBe(
    "https://github.com/a/b/pull/4",
  );
});

test("the link names the forge if its host does", () => {
  expect(openLabel("https://github.com/a/b/pull/4")).toBe("Open on GitHub");
  expect(openLabel("https://gitlab.example.com/a/b/-/merge_requests/4")).toBe("Open on GitLab");
  expect(openLabel("https://my-gitea.example.com/a/b/pulls/4")).toBe("Open on Gitea");
  expect(openLabel("https://git.example.com/github/b/pulls/4")).toBe("Open pull request");
  expect(openLabel("nonsense")).toBe("Open pull request");
});
