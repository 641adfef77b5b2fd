/** Where the two images of a pair and the boxes around changes are drawn. Pure. */

import type { Size } from "../gallery/shot-key";
import type { ComparedShot } from "../lib/types";
import type { Mode } from "../pull/urls";

/** The size that holds all images. They start at the top left, and one may be longer. */
export const enclosingSize = (...sizes: Size[]): Size => ({
  width: Math.max(...sizes.map(({ width }) => width)),
  height: Math.max(...sizes.map(({ height }) => height)),
});

const percent = (part: number, whole: number): string => `${(part / whole) * 100}%`;

export const relativeSize = (size: Size, whole: Size) => ({
  width: percent(size.width, whole.width),
  height: percent(size.height, whole.height),
});

export const relativeRegion = ([left, top, width, height]: ComparedShot["regions"][number], whole: Size) => ({
  left: percent(left, whole.width),
  top: percent(top, whole.height),
  ...relativeSize({ width, height }, whole),
});

/** The closest mode that this pair can be shown in; null: there is only one image. */
export function usableMode(
  { before, after, diff_url }: Pick<ComparedShot, "before" | "after" | "diff_url">,
  wanted: Mode,
): Mode | null {
  if (!before || !after) return null;
  return wanted === "diff" && diff_url === null ? "side" : wanted;
}
