/**
 * The event that started a job of GitHub Actions, or of Gitea's and Forgejo's Actions: a JSON file.
 *
 * The variables alone mislead. For a pull request they name the commit of a trial merge, or of the base branch.
 */
import { readFileSync, statSync } from "node:fs";
import type { Environ } from "./job.js";
import * as validate from "./validate.js";

type Json = Record<string, unknown>;

export interface Event {
  prNumber: number | undefined;
  commitSha: string;
  fromFork: boolean;
}

/** GitHub sends at most 25 MB. */
const MAX_BYTES = 32 * 1024 * 1024;

/** For these events GITHUB_SHA is a commit of the base branch. */
const NAMES_THE_BASE = new Set(["issue_comment", "pull_request_target", "workflow_run"]);

/** Return what happened: from the file, and where the file does not say, from the variables. */
export function eventOf(environ: Environ): Event {
  const said = read(validate.first(environ, "GITHUB_EVENT_PATH"));
  const ref = validate.first(environ, "GITHUB_REF");
  const isOfBase = NAMES_THE_BASE.has(validate.first(environ, "GITHUB_EVENT_NAME"));
  const built = isOfBase ? "" : validate.commit(environ.GITHUB_SHA);

  const pull = part(said, "pull_request");
  if (pull) {
    const head = part(pull, "head");
    return {
      prNumber: validate.prNumber(pull.number) ?? numberIn(ref),
      commitSha: validate.commit(head?.sha, built),
      fromFork: isFork(part(head, "repo"), part(part(pull, "base"), "repo")),
    };
  }
  const run = part(said, "workflow_run");
  if (run) {
    const [firstPull] = Array.isArray(run.pull_requests) ? run.pull_requests : [];
    return {
      prNumber: validate.prNumber((firstPull as Json | null | undefined)?.number),
      commitSha: validate.commit(run.head_sha),
      fromFork: isFork(part(run, "head_repository"), part(said, "repository")),
    };
  }
  const issue = part(said, "issue");
  if (part(issue, "pull_request"))
    // A comment on a pull request does not name its commit.
    return { prNumber: validate.prNumber(issue?.number), commitSha: "", fromFork: false };
  return { prNumber: numberIn(ref), commitSha: built, fromFork: false };
}

/** Return the pull request's number from refs/pull/12/merge. */
export function numberIn(ref: string): number | undefined {
  return ref.startsWith("refs/pull/") ? validate.prNumber(ref.split("/")[2]) : undefined;
}

function read(path: string): unknown {
  try {
    if (!path) return undefined;
    const found = statSync(path);
    if (!found.isFile() || found.size > MAX_BYTES) return undefined;
    return JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  } catch {
    return undefined; // an event that cannot be read says nothing
  }
}

/** Return the object under this name; nothing when it is missing, empty or something else. */
function part(of: unknown, name: string): Json | undefined {
  const found = isObject(of) ? of[name] : undefined;
  return isObject(found) && Object.keys(found).length > 0 ? found : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return whether the head is in another repository. That includes a fork that was deleted since. */
function isFork(head: Json | undefined, base: Json | undefined): boolean {
  return (head?.full_name ?? null) !== (base?.full_name ?? null);
}
