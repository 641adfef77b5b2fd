/** Delete screenshots now, regardless of the project's policy. */

import {
  CallError,
  EXPIRE_FAILED,
  ImageAddressError,
  InvalidInputError,
  messageOf,
  NotFoundError,
  UnreachableError,
  WrongAddressError,
} from "../errors.js";
import { message } from "../statements.js";
import { formatNumber, pluralize } from "../wording.js";
import { connect } from "./service_options.js";
import type { Context, ServiceOptions } from "./types.js";

/** Errors that every other image would hit as well. */
const OF_EVERY_IMAGE = [UnreachableError, ImageAddressError, WrongAddressError];

/** Return the exit code: 1 if one could not be deleted. The others are still deleted. Throws PrshotsError. */
export async function deleteImages(ids: string[], options: ServiceOptions, context: Context): Promise<0 | 1> {
  const { say, fail = say } = context;
  const service = connect(options, context);
  const distinct = [...new Set(ids)];
  let deleted = 0;
  for (const id of distinct) {
    try {
      await service.delete(id);
      deleted += 1;
    } catch (error) {
      fail(`${id}: ${problemOf(error)}`);
    }
  }
  const screenshots = pluralize(distinct.length, "screenshot");
  say(message("deleted_count", { count: formatNumber(deleted), screenshots }));
  return deleted === distinct.length ? 0 : 1;
}

/** Return why one image was not deleted. Throws an error that is about all of them. */
function problemOf(error: unknown): string {
  if (error instanceof NotFoundError) return message("image_not_found");
  const isOfOne = error instanceof InvalidInputError || error instanceof CallError;
  if (!isOfOne || OF_EVERY_IMAGE.some((kind) => error instanceof kind)) throw error;
  const words = messageOf(error);
  return words === EXPIRE_FAILED ? message("delete_retried") : words;
}
