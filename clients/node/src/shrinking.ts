/** Shrink images that are too large to upload. */
import { InvalidInputError } from "./errors.js";
import type { ContentType } from "./formats.js";

export interface Shrunk {
  image: Buffer;
  contentType: ContentType;
  label: string;
}

/** Return the image in less than `limit` bytes. Throws InvalidInputError if that is not possible. */
export async function shrunk(_image: Buffer, _limit: number): Promise<Shrunk> {
  throw new InvalidInputError("cannot be shrunk");
}
