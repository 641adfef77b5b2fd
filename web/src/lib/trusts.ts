/** Which CI jobs may upload without a token: who vouches for them, and what they must be. Pure. */

import type { Trust } from "./types";

/** How an issuer names what its jobs are. The claims of one that is not known are given by name. */
export type Kind = "github" | "gitlab" | "other";

export interface Claim {
  name: string;
  value: string;
}

/** The form as typed; what is empty is not asked of a job. */
export interface Wanted {
  issuer: string;
  repository: string;
  ref: string;
  environment: string;
  others: readonly Claim[];
}

export interface KindWords {
  /** The claim that names the repository, and what its issuer's people call it. */
  claim: string;
  label: string;
  example: string;
  aboutRepository: string;
  aboutRef: string;
}

export const WORDS: Record<Exclude<Kind, "other">, KindWords> = {
  github: {
    claim: "repository",
    label: "Repository",
    example: "octo-org/web-shop",
    aboutRepository:
      "With the same capitals. * stands for any text: octo-org/* is every repository of octo-org.",
    aboutRef: "Pull requests run as refs/pull/<number>/merge: refs/pull/* is all of them.",
  },
  gitlab: {
    claim: "project_path",
    label: "Project path",
    example: "group/web-shop",
    aboutRepository: "With the same capitals. * stands for any text: group/* is every project of the group.",
    aboutRef: "The branch or tag; in a merge request its source branch.",
  },
};

const NAMES: Record<string, string> = {
  "https://token.actions.githubusercontent.com": "GitHub Actions",
  "https://gitlab.com": "GitLab",
};

/** As people know it; one of their own by its address. */
export function issuerName(issuer: string): string {
  return NAMES[issuer] ?? issuer.replace(/^https?:\/\//, "");
}

export function kindOf(issuer: string): Kind {
  const [, host = "", path = ""] = /^https?:\/\/([^/:]+)(?::\d+)?(.*)$/.exec(issuer) ?? [];
  // GitHub's own, and that of an Enterprise Server
  if (host.startsWith("token.actions.") || path === "/_services/token") return "github";
  return host.split(".").includes("gitlab") ? "gitlab" : "other";
}

export const NO_CLAIM: Claim = { name: "", value: "" };

export function nothingWanted(issuer: string): Wanted {
  return { issuer, repository: "", ref: "", environment: "", others: [NO_CLAIM] };
}

/** What is wrong with the claims given by name, as a sentence; undefined if nothing is. */
export function wrongClaims(wanted: Wanted): string | undefined {
  const given = filled(wanted);
  if (given.some(({ name, value }) => name === "" || value === "")) {
    return "Give each claim both a name and a value.";
  }
  const twice = given.find(({ name }, index) => given.findIndex((other) => other.name === name) !== index);
  return twice && `The claim ${twice.name} is given twice.`;
}

export function claimsOf(wanted: Wanted): Record<string, string> {
  return Object.fromEntries(filled(wanted).map(({ name, value }) => [name, value]));
}

function filled({ issuer, repository, ref, environment, others }: Wanted): Claim[] {
  const kind = kindOf(issuer);
  const fields: Claim[] =
    kind === "other"
      ? []
      : [
          { name: WORDS[kind].claim, value: repository },
          { name: "ref", value: ref },
          { name: "environment", value: environment },
        ].filter(({ value }) => value.trim() !== "");
  return [...fields, ...others]
    .map(({ name, value }) => ({ name: name.trim(), value: value.trim() }))
    .filter(({ name, value }) => name !== "" || value !== "");
}

/** What says whose jobs they are, the plainest first. */
const WHOSE = ["repository", "project_path", "repository_owner", "namespace_path", "sub"];

/** A trust for a list: whose jobs they are, and what else they must be. */
export function trustInWords({ claims }: Pick<Trust, "claims">): { title: string; rest: string[] } {
  const whose = WHOSE.find((name) => name in claims) ?? Object.keys(claims)[0] ?? "";
  const named = (name: string) => `${name}=${claims[name]}`;
  const plain = Object.values(WORDS).some(({ claim }) => claim === whose);
  return {
    title: plain ? (claims[whose] ?? "") : named(whose),
    rest: Object.keys(claims)
      .filter((name) => name !== whose)
      .map(named),
  };
}

/** Where the page is that says whose jobs need no token. */
export function keylessPath(projectId: string): string {
  return `/projects/${projectId}/tokens?kind=keyless`;
}
