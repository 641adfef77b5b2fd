/** Close a pull request: expire its screenshots and rewrite its comment to leave no broken image. */

import type { Job } from "./ci/job.js";
import { cleanDescription } from "./description.js";
import { ForgeError, ForgeRefusedError, messageOf, NotFoundError, PrshotsError } from "./errors.js";
import { type Forge, type Merge, markerLine } from "./forges/forge.js";
import { withForkAdvice } from "./forges/forks.js";
import { Composer, post } from "./post_comment.js";
import { Queue } from "./queue.js";
import type { Expired } from "./replies.js";
import { MAX_COMMENT_BYTES, type Service } from "./service.js";
import { message } from "./statements.js";
import { hasMarker, type Posted } from "./sticky_comment.js";

const CONCURRENT_PURGES = 8;
/** How long all purges together may take. */
const PURGE_SECONDS = 60;

/** The result of closing. */
export interface Closed {
  expired: Expired;
  /** How many screenshots the project's policy keeps. */
  left: number;
  posted: Posted;
  /** How many images were replaced in the description. */
  replaced: number;
  /** Why the description wasn't changed. */
  notDescribed: string;
  purged: number;
  notPurged: number;
}

/**
 * Expire the pull request's screenshots, rewrite its description and comment, and purge the image proxy. Without `mergedAs`,
 * this asks the forge whether the pull request was merged.
 *
 * Safe to repeat: a second call finishes failed steps. Throws ForgeError if the comment couldn't be changed (by then the
 * screenshots are deleted), and the errors of the service.
 */
export async function close(
  service: Service,
  prNumber: number,
  forge: Forge,
  job: Job,
  merge: { mergedAs: string; branch: string },
): Promise<Closed> {
  const proxied = await proxiedImages(forge, prNumber); // while the comment has images
  const asked = merge.mergedAs ? undefined : await mergeOf(forge, prNumber, job);
  const mergedAs = merge.mergedAs || (asked?.commitSha ?? "");
  const expired = await service.expire(prNumber, {
    mergedAs,
    branch: merge.branch || (asked?.branch ?? ""),
  });
  const described = await cleanDescription(forge, prNumber);
  // The view "all" counts only uploads.
  const { count: left } = await service.comment(prNumber, MAX_COMMENT_BYTES, "html", "latest");
  if (left)
    return { expired, left, posted: { outcome: "none", url: "" }, ...described, purged: 0, notPurged: 0 };
  if (proxied instanceof PrshotsError) throw unfinishedError(proxied, job);
  const composer = new Composer(service, prNumber, job, { view: "latest" });
  const posted = await post(forge, composer, false).catch((error) => {
    throw error instanceof PrshotsError ? unfinishedError(error, job) : error;
  });
  const purged = await purge(forge, proxied);
  return { expired, left, posted, ...described, purged, notPurged: proxied.length - purged };
}

/** Ask the forge how the pull request was merged, unless the job's event already covers its end. */
async function mergeOf(forge: Forge, prNumber: number, job: Job): Promise<Merge | undefined> {
  if (job.closed && prNumber === job.prNumber) return undefined;
  try {
    return await forge.mergeOf(prNumber);
  } catch (error) {
    if (error instanceof PrshotsError) return undefined; // the screenshots are deleted anyway
    throw error;
  }
}

/**
 * Return the image proxy's addresses of all projects' comments, or the error that hides them. The proxy fetches what
 * remains again.
 */
async function proxiedImages(forge: Forge, prNumber: number): Promise<string[] | PrshotsError> {
  const found: string[] = [];
  const marker = markerLine(forge.markerStyle, prNumber);
  try {
    const comments = await forge.comments(prNumber);
    for (const { id } of comments.filter((each) => !each.byStranger && hasMarker(each, marker)))
      found.push(...(await forge.proxiedImages(id).catch(ifDeleted)));
    return found;
  } catch (error) {
    if (error instanceof PrshotsError) return error;
    throw error;
  }
}

/** Someone may just have deleted the comment. */
function ifDeleted(error: unknown): string[] {
  if (error instanceof NotFoundError) return [];
  throw error;
}

/** Return how many images the proxy dropped before the time was up. */
async function purge(forge: Forge, addresses: string[]): Promise<number> {
  const until = Date.now() + PURGE_SECONDS * 1000;
  const queue = new Queue(CONCURRENT_PURGES);
  let purged = 0;
  for (const address of addresses)
    queue.add(async () => {
      if (Date.now() < until && (await forge.purge(address))) purged += 1;
    });
  await queue.idle();
  return purged;
}

function unfinishedError(error: PrshotsError, job: Job): ForgeError {
  const reason = error instanceof ForgeRefusedError ? withForkAdvice(error, job) : error;
  return new ForgeError(message("comment_not_changed", { why: messageOf(reason) }));
}
