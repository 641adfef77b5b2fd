/** The comment on its way from the service to the pull request. */
import type { Job } from "./ci/job.js";
import { ForgeRefusedError } from "./errors.js";
import type { Forge } from "./forges/forge.js";
import { refused } from "./forges/forks.js";
import type { Service } from "./service.js";
import { keepCurrent, type Posted } from "./sticky_comment.js";

/** Bring the pull request's comment up to date. No comment is created only to say that there are no screenshots. */
export async function post(forge: Forge, service: Service, prNumber: number, job: Job): Promise<Posted> {
  const text = () => service.comment(prNumber, forge.maxCommentBytes, forge.markerStyle);
  const creating = (await text()).count > 0;
  try {
    return await keepCurrent(forge, prNumber, async () => (await text()).markdown, creating);
  } catch (error) {
    throw error instanceof ForgeRefusedError ? refused(error, job) : error;
  }
}
