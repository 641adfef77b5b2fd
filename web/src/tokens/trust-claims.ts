/** Trusts: which CI jobs may upload without a token. Pure. */

import type { Trust } from "../lib/types";

/** Which claim names an issuer uses. For an unknown issuer, the user enters them. */
export type IssuerKind = "github" | "gitlab" | "other";

export interface Claim {
  name: string;
  value: string;
}

/** The form as typed. A job doesn't need to match empty fields. */
export interface TrustDraft {
  issuer: string;
  repository: string;
  ref: string;
  environment: string;
  others: readonly Claim[];
}

interface IssuerTexts {
  /** The claim that names the repository, and what the forge calls it. */
  claim: string;
  label: string;
  example: string;
  aboutRepository: string;
  aboutRef: string;
}

export const ISSUER_TEXTS: Record<Exclude<IssuerKind, "other">, IssuerTexts> = {
  github: {
    claim: "repository",
    label: "Repository",
    example: "octo-org/web-shop",
    aboutRepository: "Case-sensitive. * matches any text: octo-org/* allows every repository of octo-org.",
    aboutRef: "Pull requests run as refs/pull/<number>/merge. refs/pull/* allows all of them.",
  },
  gitlab: {
    claim: "project_path",
    label: "Project path",
    example: "group/web-shop",
    aboutRepository: "Case-sensitive. * matches any text: group/* allows every project of the group.",
    aboutRef: "A branch or tag. For a merge request, its source branch.",
  },
};

const NAMES: Record<string, string> = {
  "https://token.actions.githubusercontent.com": "GitHub Actions",
  "https://gitlab.com": "GitLab",
};

/** The issuer's common name, or its address. */
export function issuerName(issuer: string): string {
  return NAMES[issuer] ?? issuer.replace(/^https?:\/\//, "");
}

export function issuerKind(issuer: string): IssuerKind {
  const [, host = "", path = ""] = /^https?:\/\/([^/:]+)(?::\d+)?(.*)$/.exec(issuer) ?? [];
  // github.com, and GitHub Enterprise Server
  if (host.startsWith("token.actions.") || path === "/_services/token") return "github";
  return host.split(".").includes("gitlab") ? "gitlab" : "other";
}

export const NO_CLAIM: Claim = { name: "", value: "" };

export function emptyDraft(issuer: string): TrustDraft {
  return { issuer, repository: "", ref: "", environment: "", others: [NO_CLAIM] };
}

/** What is wrong with the claims, as a sentence; undefined if they are valid. */
export function validateClaims(draft: TrustDraft): string | undefined {
  const given = collectClaims(draft);
  if (given.some(({ name, value }) => name === "" || value === "")) {
    return "Enter a name and a value for each claim.";
  }
  const twice = given.find(({ name }, index) => given.findIndex((other) => other.name === name) !== index);
  return twice && `Remove the duplicate claim ${twice.name}.`;
}

export function claimsOf(draft: TrustDraft): Record<string, string> {
  return Object.fromEntries(collectClaims(draft).map(({ name, value }) => [name, value]));
}

function collectClaims({ issuer, repository, ref, environment, others }: TrustDraft): Claim[] {
  const kind = issuerKind(issuer);
  const fields: Claim[] =
    kind === "other"
      ? []
      : [
          { name: ISSUER_TEXTS[kind].claim, value: repository },
          { name: "ref", value: ref },
          { name: "environment", value: environment },
        ].filter(({ value }) => value.trim() !== "");
  return [...fields, ...others]
    .map(({ name, value }) => ({ name: name.trim(), value: value.trim() }))
    .filter(({ name, value }) => name !== "" || value !== "");
}

/** Claims that identify the repository, best first. */
const WHOSE = ["repository", "project_path", "repository_owner", "namespace_path", "sub"];

/** A trust for a list: the repository, and the other required claims. */
export function describeTrust({ claims }: Pick<Trust, "claims">): { title: string; rest: string[] } {
  const whose = WHOSE.find((name) => name in claims) ?? Object.keys(claims)[0] ?? "";
  const named = (name: string) => `${name}=${claims[name]}`;
  const plain = Object.values(ISSUER_TEXTS).some(({ claim }) => claim === whose);
  return {
    title: plain ? (claims[whose] ?? "") : named(whose),
    rest: Object.keys(claims)
      .filter((name) => name !== whose)
      .map(named),
  };
}

/** The ids that a trust is pinned to, for a list. */
export function formatPins({ pins }: Pick<Trust, "pins">): string[] {
  return Object.entries(pins).map(([name, id]) => `${name}=${id}`);
}

/** The ids of the last job that was refused because of the pins. */
export function formatRefusedIds({ refused_ids: ids }: Pick<Trust, "refused_ids">): string[] {
  return Object.entries(ids).map(([name, id]) => (id === "" ? `no ${name}` : `${name}=${id}`));
}

/** The path of the page for keyless upload. */
export function keylessPath(projectId: string): string {
  return `/projects/${projectId}/tokens?kind=keyless`;
}
