/**
 * The event that started a job of GitHub Actions, or of Gitea's and Forgejo's Actions: a JSON file.
 *
 * The variables alone mislead. For a pull request they name the commit of a trial merge, or of the base branch.
 */
import { readFileSync, statSync } from "node:fs";
import type { Environ, Job, Lookup } from "./job.js";
import * as validate from "./validate.js";

type Json = Record<string, unknown>;

/** GitHub sends at most 25 MB. */
const MAX_BYTES = 32 * 1024 * 1024;

/** For these events GITHUB_SHA is a commit of the base branch. */
const NAMES_THE_BASE = new Set([
  "check_run",
  "check_suite",
  "issue_comment",
  "pull_request_target",
  "workflow_run",
]);

/** These events build GITHUB_REF as it is. Others name the default branch there, and build something else. */
const OF_A_BRANCH = new Set(["push", "schedule", "workflow_dispatch"]);

/** The branch of a pull request in GitHub's merge queue. */
export const QUEUE_REF = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9][0-9]*)-[0-9a-f]{40}$/;

/**
 * Return what happened: from the file, and where the file does not say, from the variables. The content tells which
 * event it is: in a reusable workflow, Gitea names every event `workflow_call`.
 */
export function eventOf(environ: Environ): Partial<Job> & Pick<Job, "commitSha"> {
  const said = read(validate.first(environ, "GITHUB_EVENT_PATH"));
  const defaultBranch = validate.branch(part(said, "repository")?.default_branch);
  return { commitSha: "", ...saidIn(said, environ), defaultBranch };
}

function saidIn(said: unknown, environ: Environ): Partial<Job> {
  const event = validate.first(environ, "GITHUB_EVENT_NAME");
  const ref = validate.first(environ, "GITHUB_REF");
  const built = NAMES_THE_BASE.has(event) ? "" : validate.commit(environ.GITHUB_SHA);

  const pull = part(said, "pull_request");
  if (pull) return ofPullRequest(pull, ref, built, isObject(said) && said.action === "closed");
  const group = part(said, "merge_group");
  if (group) return ofMergeGroup(group, ref, built);
  const deployment = part(said, "deployment"); // before workflow_run, which the event also has
  if (deployment) return ofDeployment(said, deployment, ref, built);
  const run = part(said, "workflow_run") ?? part(said, "check_suite") ?? part(said, "check_run");
  if (run) return ofRun(said, run);
  const issue = part(said, "issue");
  if (part(issue, "pull_request")) {
    // A comment on a pull request does not name its commit.
    const prNumber = validate.prNumber(issue?.number);
    const lookup = prNumber === undefined ? undefined : "head";
    return { prNumber, alreadyClosed: issue?.state === "closed", lookup };
  }
  const isPush = OF_A_BRANCH.has(event) || (event === "workflow_call" && isObject(said) && "after" in said);
  return {
    prNumber: numberIn(ref),
    commitSha: built,
    branch: isPush && ref.startsWith("refs/heads/") ? validate.branch(ref) : "",
    targetBranch: validate.branch(environ.GITHUB_BASE_REF),
    sourceBranch: validate.branch(environ.GITHUB_HEAD_REF),
  };
}

function ofPullRequest(pull: Json, ref: string, built: string, closed: boolean): Partial<Job> {
  const [head, base] = [part(pull, "head"), part(pull, "base")];
  return {
    prNumber: validate.prNumber(pull.number) ?? numberIn(ref),
    commitSha: validate.commit(head?.sha, built),
    closed,
    alreadyClosed: !closed && pull.state === "closed",
    fromFork: isFork(part(head, "repo"), part(base, "repo")),
    targetBranch: validate.branch(base?.ref),
    sourceBranch: validate.branch(head?.ref),
    title: validate.words(pull.title),
    author: validate.words(part(pull, "user")?.login),
    mergedAs: closed && pull.merged === true ? validate.fullCommit(pull.merge_commit_sha) : "",
  };
}

function ofMergeGroup(group: Json, ref: string, built: string): Partial<Job> {
  const prNumber = numberIn(ref);
  return {
    prNumber,
    commitSha: validate.commit(group.head_sha, built),
    targetBranch: validate.branch(group.base_ref),
    baseSha: validate.fullCommit(group.base_sha),
    inQueue: prNumber !== undefined,
  };
}

/**
 * A workflow run, a check suite or a check run. GitHub lists every pull request with this head, including those that other
 * repositories have of this branch.
 */
function ofRun(said: unknown, run: Json): Partial<Job> {
  const commitSha = validate.commit(run.head_sha);
  const own = ownPullRequest(said, run, commitSha);
  const { prNumber } = own;
  let lookup: Lookup | undefined;
  if (prNumber === undefined && commitSha) {
    const startedBy = run.event ?? undefined;
    const isListed = Array.isArray(run.pull_requests) && run.pull_requests.length > 0;
    if (typeof startedBy === "string" && startedBy.startsWith("pull_request")) lookup = "pull_request";
    else if (startedBy === undefined || isListed) lookup = "any_pull_request";
  }
  const isOfFork = isFork(part(run, "head_repository"), part(said, "repository"));
  return {
    ...own,
    commitSha,
    fromFork: "head_repository" in run && isOfFork,
    lookup,
    branch: run.event === "push" && !isOfFork ? validate.branch(run.head_branch) : "",
    hasFailed: (run.conclusion ?? "success") !== "success",
  };
}

/** A deployment, such as a preview. */
function ofDeployment(said: unknown, deployment: Json, ref: string, built: string): Partial<Job> {
  const commitSha = validate.commit(deployment.sha, built);
  const named = typeof deployment.ref === "string" ? deployment.ref : "";
  const run = part(said, "workflow_run");
  const isOfRun = run !== undefined && validate.commit(run.head_sha) === commitSha;
  const inRef = numberIn(ref) ?? numberIn(named);
  const own = inRef === undefined && isOfRun ? ownPullRequest(said, run, commitSha) : { prNumber: inRef };
  const lookup = own.prNumber === undefined && commitSha ? "any_pull_request" : undefined;
  return { ...own, commitSha, lookup };
}

/**
 * Return the one pull request that is in this repository and has this head, with its target branch; without a number if
 * there is not exactly one.
 */
function ownPullRequest(said: unknown, run: Json, sha: string): Pick<Job, "prNumber" | "targetBranch"> {
  const own = part(said, "repository")?.id ?? undefined;
  const listed: unknown[] = Array.isArray(run.pull_requests) ? run.pull_requests : [];
  const found = listed.filter(
    (pull) =>
      own !== undefined &&
      part(part(pull, "base"), "repo")?.id === own &&
      validate.commit(part(pull, "head")?.sha) === sha,
  );
  const pull = found.length === 1 && sha ? (found[0] as Json) : {};
  return {
    prNumber: validate.prNumber(pull.number),
    targetBranch: validate.branch(part(pull, "base")?.ref),
  };
}

/** Return the pull request's number from refs/pull/12/merge, or from the ref of a merge queue. */
export function numberIn(ref: string): number | undefined {
  const queued = QUEUE_REF.exec(ref)?.[1];
  if (queued) return validate.prNumber(queued);
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
