/** The comment on its way from the service to the pull request. */

import { ForgeRefusedError } from "./errors.js";
import type { Forge } from "./forges/forge.js";
import { refused } from "./forges/forks.js";
import type { Composer } from "./post_comment.js";
import { keepCurrent, type Posted } from "./sticky_comment.js";

/** Bring the pull request's comment up to date. No comment is created only to say that there are no screenshots. */
export async function post(forge: Forge, composer: Composer): Promise<Posted> {
  const creating = (await composer.count()) > 0;
  try {
    return await keepCurrent(forge, composer.prNumber, () => composer.textFor(forge), creating);
  } catch (error) {
    throw error instanceof ForgeRefusedError ? refused(error, composer.job) : error;
  }
}
