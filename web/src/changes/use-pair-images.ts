import type { Image } from "../lib/types";
import { useNaturalSize } from "../lightbox/use-zoom";
import type { Mode } from "../pull/urls";
import { useThumbnailRequest } from "../thumbnails/thumbnail";
import { enclosingSize } from "./pair-layout";
import type { ShotWithVerdict } from "./verdicts";

export type PairImages = ReturnType<typeof usePairImages>;

/** The images of a pair and their sizes. `size` holds every image that the mode shows. */
export function usePairImages(shot: ShotWithVerdict | undefined, mode: Mode | null) {
  const before = shot?.before ?? null;
  const after = shot?.after ?? null;
  const diff: Image | null =
    after && shot?.diff_url ? { ...after, id: `${after.id} marked`, url: shot.diff_url } : null;
  useThumbnailRequest(before);
  useThumbnailRequest(after);
  const sizes = {
    before: useNaturalSize(before),
    after: useNaturalSize(after),
    diff: useNaturalSize(diff),
  };
  const seen = mode === "diff" ? [sizes.diff] : [before && sizes.before, after && sizes.after];
  const known = seen.filter((natural) => natural !== null);
  const size = known.length > 0 ? enclosingSize(...known.map((natural) => natural.size)) : sizes.after.size;
  return { before, after, diff, sizes, size, loaded: known.every(({ loaded }) => loaded) };
}
