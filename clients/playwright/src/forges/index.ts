/** The forges: how to find, write and change a comment on a pull request. */
import { FORGES, type ForgeKind, type Job } from "../ci/job.js";
import { InvalidInputError } from "../errors.js";
import type { Sender } from "../sending.js";
import { Bitbucket } from "./bitbucket.js";
import { advice } from "./forks.js";
import { Gitea } from "./gitea.js";
import { GitHub } from "./github.js";
import { GitLab } from "./gitlab.js";

export interface Comment {
  id: string;
  body: string;
  /** The name that `Forge.me` returns for the same account. */
  author: string;
  url: string;
}

/** How the service marks the comment: `link` is for forges that show HTML as text. */
export type Marker = "html" | "link";

/** One repository on one forge. Every method throws ForgeError, UnreachableError and RateLimitedError. */
export interface Forge {
  /** The name for people, such as GitHub. */
  readonly label: string;
  /** How many bytes a comment may have. */
  readonly maxCommentBytes: number;
  readonly markerStyle: Marker;
  /**
   * Return the account that our token belongs to; empty when the forge does not say. Undefined where an attempt tells:
   * only its author may change a comment, and `update` throws NotFoundError for someone else's.
   */
  me(): Promise<string | undefined>;
  /** Return all comments on a pull request, oldest first. */
  comments(prNumber: number): Promise<Comment[]>;
  create(prNumber: number, body: string): Promise<Comment>;
  /** Change a comment's text. Throws NotFoundError when the comment does not exist anymore. */
  update(prNumber: number, id: string, body: string): Promise<void>;
  /** Delete a comment. It is no error if it does not exist anymore. */
  delete(prNumber: number, id: string): Promise<void>;
}

/** Return the line that our comment begins with. The service writes it. */
export function markerLine(marker: Marker, prNumber: number): string {
  return marker === "link" ? `[//]: # (svc:pr-${prNumber})` : `<!-- svc:pr-${prNumber} -->`;
}

/** Where to send requests, and with which token. */
export interface Access {
  api: string;
  repository: string;
  token: string;
  sender: Sender;
}

const KINDS: Record<ForgeKind, { label: string; open(access: Access): Forge }> = {
  github: { label: "GitHub", open: (access) => new GitHub(access) },
  gitlab: { label: "GitLab", open: (access) => new GitLab(access) },
  gitea: { label: "Gitea", open: (access) => new Gitea(access) },
  bitbucket: { label: "Bitbucket", open: (access) => new Bitbucket(access) },
};

/** Return the job's repository. Throws InvalidInputError when something is missing. */
export function forgeOf(job: Job, sender: Sender): Forge {
  if (!job.forge)
    throw new InvalidInputError(`unknown forge: set forge (PRSHOTS_FORGE) to one of ${FORGES.join(", ")}`);
  const { label, open } = KINDS[job.forge];
  if (!job.repository)
    throw new InvalidInputError(
      `no ${label} repository: set repository (PRSHOTS_REPOSITORY), such as owner/name`,
    );
  if (!URL.canParse(job.forgeApi))
    throw new InvalidInputError(
      `no address for ${label}: set forgeUrl (PRSHOTS_FORGE_URL) to the root of its API`,
    );
  if (!job.forgeToken)
    throw new InvalidInputError(
      `no token to comment on ${label}: set forgeToken (PRSHOTS_FORGE_TOKEN)${tokenAdvice(job)}`,
    );
  return open({ api: job.forgeApi, repository: job.repository, token: job.forgeToken, sender });
}

function tokenAdvice(job: Job): string {
  const forFork = advice(job);
  if (forFork) return `. ${forFork}`;
  if (job.forge !== "github" && job.forge !== "gitea") return "";
  const { label } = KINDS[job.forge];
  return `; in ${label} Actions, set env: GITHUB_TOKEN: \${{ github.token }} in the step`;
}
