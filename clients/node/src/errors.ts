/** The errors that users may see. Each message says what is wrong and what to do. */
export class PrshotsError extends Error {
  override name = "PrshotsError";
}

/** A setting, an image or a request is invalid. */
export class InvalidInputError extends PrshotsError {
  override name = "InvalidInputError";
}

/** The service's URL is the one of its images. */
export class ImageAddressError extends InvalidInputError {
  override name = "ImageAddressError";
}

/** The pull request is closed, so nothing is sent. A command still succeeds. */
export class ClosedPullRequestError extends PrshotsError {
  override name = "ClosedPullRequestError";
}

/** The service finds a request invalid. */
export class RefusedInputError extends InvalidInputError {
  override name = "RefusedInputError";
}

/** No given path is or contains a usable screenshot. */
export class NoScreenshotsError extends PrshotsError {
  override name = "NoScreenshotsError";
}

/** An image is too large for the service. */
export class PayloadTooLargeError extends RefusedInputError {
  override name = "PayloadTooLargeError";
}

/** The service does not accept the token. */
export class UnauthorizedError extends PrshotsError {
  override name = "UnauthorizedError";
}

/** The rate limit is used up for longer than we wait. */
export class RateLimitedError extends PrshotsError {
  override name = "RateLimitedError";
}

/** The requested object does not exist, or no longer exists. */
export class NotFoundError extends PrshotsError {
  override name = "NotFoundError";
}

/** A request failed. */
export class CallError extends PrshotsError {
  override name = "CallError";
}

/** Another program answers at the service's URL, or it redirects. */
export class WrongAddressError extends CallError {
  override name = "WrongAddressError";
}

export class UnreachableError extends CallError {
  override name = "UnreachableError";
}

export class ForgeError extends CallError {
  override name = "ForgeError";
}

/** The forge does not let our token do this. */
export class ForgeRefusedError extends ForgeError {
  override name = "ForgeRefusedError";
}

/** The service's own words. They say enough. */
export const EXPIRE_FAILED = "expire failed, retry later";
/** The service's words when an upload doesn't fit into a quota. Waiting doesn't help. */
export const QUOTA_REACHED = "storage quota reached";

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
