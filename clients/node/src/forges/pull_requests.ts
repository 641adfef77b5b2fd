/** The pull requests of GitHub and Gitea, whose APIs have the same paths. */
import * as validate from "../ci/validate.js";
import { type Merge, mergeAt } from "./forge.js";
import { type ForgeApi, type Json, textAt } from "./forge_api.js";

/** A forge that runs jobs whose event does not name the pull request, or its head. */
export interface AnswersLookups {
  /** Return the open pull requests of this repository that have this commit as their head. */
  openPullRequests(headSha: string): Promise<number[]>;
  /** Return the head commit of a pull request; empty if the forge doesn't say. */
  headOf(prNumber: number): Promise<string>;
}

/** Return the numbers of the pull requests that are open, in this repository, and have this head. */
export function openWithHead(entries: Json[], repository: string, headSha: string): number[] {
  const numbers = entries
    .filter(
      (pull) =>
        textAt(pull, "state") === "open" &&
        textAt(pull, "head", "sha") === headSha &&
        textAt(pull, "base", "repo", "full_name").toLowerCase() === repository.toLowerCase(),
    )
    .map((pull) => validate.prNumber(pull.number))
    .filter((number) => number !== undefined);
  return [...new Set(numbers)];
}

export async function headOf(api: ForgeApi, repository: string, prNumber: number): Promise<string> {
  return validate.commit(
    textAt(await api.call("GET", `/repos/${repository}/pulls/${prNumber}`), "head", "sha"),
  );
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
