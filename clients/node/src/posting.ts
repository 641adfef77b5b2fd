/** The comment on its way from the service to the pull request. */
import { isOnTheInternet, isPublic } from "./ci/forge_addresses.js";
import type { Job } from "./ci/job.js";
import { ForgeRefusedError } from "./errors.js";
import type { Forge } from "./forges/forge.js";
import { refused } from "./forges/forks.js";
import type { Service, View } from "./service.js";
import { keepCurrent, type Posted } from "./sticky_comment.js";

/** Pictures in the comment: on their own line, linked, or in a table. */
const IMAGES = [
  /^!\[.*\]\((https?:\/\/[^\s)]+)\)$/m,
  /\[!\[[^\]\n]*\]\((https?:\/\/[^\s)]+)\)\]\(/,
  /<a href="[^"]*"><img [^>]*src="(https?:\/\/[^"]+)"/,
];

/** Bring the pull request's comment up to date. No comment is created only to say that there are no screenshots. */
export async function post(
  forge: Forge,
  service: Service,
  prNumber: number,
  job: Job,
  view: View,
): Promise<Posted & { warning: string }> {
  const text = () => service.comment(prNumber, forge.maxCommentBytes, forge.markerStyle, view);
  const { count, markdown } = await text();
  try {
    const posted = await keepCurrent(forge, prNumber, async () => (await text()).markdown, count > 0);
    return { ...posted, warning: unreachableImages(markdown, job.forgeApi, forge.label) };
  } catch (error) {
    throw error instanceof ForgeRefusedError ? refused(error, job) : error;
  }
}

/** Return a warning if the forge is on the internet, and the images are not; else an empty text. */
export function unreachableImages(markdown: string, forgeApi: string, label: string): string {
  const address = IMAGES.map((image) => image.exec(markdown)?.[1]).find(Boolean);
  if (address === undefined || !isOnTheInternet(forgeApi) || isPublic(address)) return "";
  return (
    `${label} cannot fetch the images from ${new URL(address).origin}, which is not on the internet, so the comment ` +
    "shows none: set PRSHOTS_IMG_URL on the service to a public address"
  );
}
