/** The pull requests of GitHub and Gitea, whose APIs have the same paths. */
import * as validate from "../ci/validate.js";
import { type Merge, mergeAt } from "./forge.js";
import { type ForgeApi, type Json, textAt } from "./forge_api.js";

/** A forge that runs jobs whose event does not name the pull request, or its head. */
export interface AnswersLookups {
  /**
   * Return the pull requests of this repository that have this commit as their head: all open ones, and on GitHub also
   * those that were closed.
   */
  pullRequestsWithHead(headSha: string): Promise<ForgePullRequest[]>;
  pullRequest(prNumber: number): Promise<ForgePullRequest>;
}

export interface ForgePullRequest {
  number: number | undefined;
  isOpen: boolean;
  /** Empty if the forge doesn't say. */
  headSha: string;
  targetBranch: string;
}

/** Return the pull requests that are in this repository and have this head. */
export function withHead(entries: Json[], repository: string, headSha: string): ForgePullRequest[] {
  const found = entries
    .filter(
      (pull) =>
        textAt(pull, "head", "sha") === headSha &&
        textAt(pull, "base", "repo", "full_name").toLowerCase() === repository.toLowerCase(),
    )
    .map(readPull);
  return [...new Map(found.map((pull) => [pull.number, pull])).values()]; // two pages may list the same one
}

export async function pullRequestAt(
  api: ForgeApi,
  repository: string,
  prNumber: number,
): Promise<ForgePullRequest> {
  return readPull(await api.call("GET", `/repos/${repository}/pulls/${prNumber}`));
}

function readPull(pull: unknown): ForgePullRequest {
  return {
    number: validate.prNumber((pull as Json | null)?.number),
    isOpen: textAt(pull, "state") === "open",
    headSha: validate.commit(textAt(pull, "head", "sha")),
    targetBranch: validate.branch(textAt(pull, "base", "ref")),
  };
}

export async function mergeOf(
  api: ForgeApi,
  repository: string,
  prNumber: number,
): Promise<Merge | undefined> {
  const found = await api.call("GET", `/repos/${repository}/pulls/${prNumber}`);
  const isMerged = (found as Json | null)?.merged === true;
  return isMerged ? mergeAt(textAt(found, "merge_commit_sha"), textAt(found, "base", "ref")) : undefined;
}
