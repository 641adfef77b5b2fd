/** The pull requests ahead of a job's own in a merge queue: its screenshots also show their changes. */

import { message } from "../statements.js";
import { QUEUE_REF } from "./actions_event.js";
import { remoteRefs, type Say } from "./git.js";
import type { ForgeKind, Job } from "./job.js";
import * as validate from "./validate.js";

const MAX_QUEUED_PULLS = 50;

/** For each forge, the refs of its queues, and where such a ref has the number of its pull request. */
const QUEUES: { [kind in ForgeKind]?: [pattern: string, form: RegExp] } = {
  github: ["refs/heads/gh-readonly-queue/*", QUEUE_REF],
  gitlab: ["refs/merge-requests/*/train", /^refs\/merge-requests\/([1-9][0-9]*)\/train$/],
};

/**
 * Return the pull requests whose queued commits are in the base; none unless the job is in a queue. Never rejects: `say` is
 * called if git can't list the queue.
 */
export async function queuedPulls(job: Job, baseCommits: string[], say: Say): Promise<number[]> {
  const queue = job.inQueue && job.forge && QUEUES[job.forge];
  if (!queue) return [];
  const [pattern, form] = queue;
  const { output, error } = await remoteRefs(pattern);
  if (error) say(message("queue_unknown", { why: error }));
  const numbers = output.split("\n").flatMap((line) => {
    const [commit = "", ref = ""] = line.split("\t");
    const number = baseCommits.includes(commit) ? validate.prNumber(form.exec(ref)?.[1]) : undefined;
    return number && number !== job.prNumber ? [number] : [];
  });
  return [...new Set(numbers)].sort((one, other) => one - other).slice(-MAX_QUEUED_PULLS);
}
