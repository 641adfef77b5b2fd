/** Move what was staged for a branch, before it had a pull request, to that pull request. */
import { repositoryOfRemote } from "../ci/forge_addresses.js";
import { messageOf, PrshotsError, UnreachableError } from "../errors.js";
import { message } from "../statements.js";
import { pluralize } from "../wording.js";
import { connect, jobOf, prIn } from "./service_options.js";
import type { Context, ServiceOptions } from "./types.js";

/**
 * Say what moved, or why not; nothing if nothing is staged, if the job does not name the pull request's branch, or if the
 * pull request is closed. A failure is only a warning: the screenshots stay staged. Throws InvalidInputError, and
 * UnreachableError, because no other call would succeed.
 */
export async function moveStaged(options: ServiceOptions & { pr?: number }, context: Context): Promise<void> {
  const { environ, say, fail = say } = context;
  const job = jobOf(context);
  const { prNumber, sourceBranch, repository, repositoryUrl, fromFork } = job;
  const isJobsOwn = (prIn(options, environ) ?? prNumber) === prNumber;
  if (prNumber === undefined || !isJobsOwn || !sourceBranch || job.closed || job.alreadyClosed) return;
  const service = connect(options, context);
  try {
    // GitLab names the project by its id. The address has the path, which screenshots are staged with.
    const own = repository.includes("/") ? repository : repositoryOfRemote(repositoryUrl).repository;
    // The branch of a fork is in another repository, which the event may not name. Nothing moves from there.
    const done = await service.moveStaged(sourceBranch, prNumber, fromFork ? "" : own, fromFork);
    const words: string[] = [];
    if (done.moved)
      words.push(message("staged_moved", { screenshots: staged(done.moved), number: prNumber }));
    if (done.kept)
      words.push(message("staged_not_moved", { screenshots: staged(done.kept), why: done.reason }));
    if (words.length) say(`Note: ${words.join("; ")}.`);
  } catch (error) {
    const isWarning = error instanceof PrshotsError && !(error instanceof UnreachableError);
    if (!isWarning) throw error;
    const words = message("staged_of_branch_not_moved", { branch: sourceBranch, why: messageOf(error) });
    fail(`Warning: ${words}.`);
  }
}

function staged(count: number): string {
  return pluralize(count, "staged screenshot");
}
