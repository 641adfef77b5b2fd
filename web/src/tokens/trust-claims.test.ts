import { describe, expect, it } from "vitest";
import {
  claimsOf,
  describeTrust,
  emptyDraft,
  formatPins,
  formatRefusedIds,
  issuerKind,
  issuerName,
  type TrustDraft,
  validateClaims,
} from "./trust-claims";

const GITHUB = "https://token.actions.githubusercontent.com";
const GITLAB = "https://gitlab.com";
const OTHER = "https://ci.example.com/oidc";

const draft = (issuer: string, given: Partial<TrustDraft> = {}): TrustDraft => ({
  ...emptyDraft(issuer),
  ...given,
});

describe("an issuer", () => {
  it.each([
    [GITHUB, "github", "GitHub Actions"],
    [`${GITHUB}/octo-enterprise`, "github", "token.actions.githubusercontent.com/octo-enterprise"],
    ["https://ghe.example.com/_services/token", "github", "ghe.example.com/_services/token"],
    [GITLAB, "gitlab", "GitLab"],
    ["https://gitlab.example.com:8443", "gitlab", "gitlab.example.com:8443"],
    ["https://notgitlab.example.com", "other", "notgitlab.example.com"],
    ["http://127.0.0.1:4000", "other", "127.0.0.1:4000"],
    ["", "other", ""],
  ])("%s has a kind and a name", (issuer, kind, name) => {
    expect(issuerKind(issuer)).toBe(kind);
    expect(issuerName(issuer)).toBe(name);
  });
});

describe("claims from the form", () => {
  it("use GitHub's names", () => {
    const typed = draft(GITHUB, { repository: " octo/app ", ref: "refs/pull/*", environment: "ci" });
    expect(claimsOf(typed)).toEqual({ repository: "octo/app", ref: "refs/pull/*", environment: "ci" });
  });

  it("use GitLab's names, and omit empty fields", () => {
    expect(claimsOf(draft(GITLAB, { repository: "group/app", ref: " " }))).toEqual({
      project_path: "group/app",
    });
  });

  it("use only named claims for an unknown issuer, and omit fields that it does not show", () => {
    const others = [
      { name: " sub ", value: "org/app" },
      { name: "", value: " " },
    ];
    expect(claimsOf(draft(OTHER, { repository: "octo/app", others }))).toEqual({ sub: "org/app" });
  });
});

describe("validateClaims", () => {
  it.each([
    ["no other claims", [], undefined],
    ["one other claim", [{ name: "actor", value: "ann" }], undefined],
    ["an empty row", [{ name: "", value: "" }], undefined],
    ["no value", [{ name: "actor", value: "" }], "Enter a name and a value for each claim."],
    ["no name", [{ name: " ", value: "ann" }], "Enter a name and a value for each claim."],
    ["a duplicate", [{ name: "repository", value: "x/y" }], "Remove the duplicate claim repository."],
  ])("%s", (_, others, problem) => {
    expect(validateClaims(draft(GITHUB, { repository: "octo/app", others }))).toBe(problem);
  });
});

describe("a trust in a list", () => {
  it.each<[Record<string, string>, string, string[]]>([
    [{ ref: "refs/pull/*", repository: "octo/app" }, "octo/app", ["ref=refs/pull/*"]],
    [{ project_path: "group/app" }, "group/app", []],
    [{ ref: "main", repository_owner: "octo" }, "repository_owner=octo", ["ref=main"]],
    [{ kind: "ci", sub: "org/app" }, "sub=org/app", ["kind=ci"]],
    [{ project_id: "7", ref: "main" }, "project_id=7", ["ref=main"]],
  ])("with %o is named after the jobs that it accepts", (claims, title, rest) => {
    expect(describeTrust({ claims })).toEqual({ title, rest });
  });

  it("shows the ids that it is pinned to, and those of a refused job", () => {
    expect(formatPins({ pins: {} })).toEqual([]);
    expect(formatPins({ pins: { repository_id: "7" } })).toEqual(["repository_id=7"]);
    expect(formatRefusedIds({ refused_ids: { repository_id: "8", repository_owner_id: "" } })).toEqual([
      "repository_id=8",
      "no repository_owner_id",
    ]);
  });
});
