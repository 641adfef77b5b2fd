import type { Image } from "../lib/types";
import { useNaturalSize } from "../lightbox/use-zoom";
import type { Mode } from "../pull/urls";
import { useThumbnailOf } from "../thumbnails/thumbnail";
import { around } from "./pair-layout";
import type { Decided } from "./verdicts";

export type Pictures = ReturnType<typeof usePictures>;

/** The pictures of a pair and their sizes. `size` has room for all that the mode shows. */
export function usePictures(shot: Decided | undefined, mode: Mode | null) {
  const before = shot?.before ?? null;
  const after = shot?.after ?? null;
  const diff: Image | null =
    after && shot?.diff_url ? { ...after, id: `${after.id} marked`, url: shot.diff_url } : null;
  useThumbnailOf(before);
  useThumbnailOf(after);
  const sizes = {
    before: useNaturalSize(before),
    after: useNaturalSize(after),
    diff: useNaturalSize(diff),
  };
  const seen = mode === "diff" ? [sizes.diff] : [before && sizes.before, after && sizes.after];
  const known = seen.filter((natural) => natural !== null);
  const size = known.length > 0 ? around(...known.map((natural) => natural.size)) : sizes.after.size;
  return { before, after, diff, sizes, size, arrived: known.every(({ arrived }) => arrived) };
}
