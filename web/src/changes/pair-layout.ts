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

/** Rows of the before image, and how far down the after image has them; negative if it has them further up. */
export interface Piece {
  from: number;
  to: number;
  by: number;
}

/** How high the box of a seam is: it marks where rows were removed. */
const SEAM = 2;

/**
 * Cuts the before image at the rows that were inserted and removed, so that the rest lies on the after image. The image
 * stays whole if the boxes don’t say where each row went.
 */
export function alignPieces(
  { regions, shift }: Pick<ComparedShot, "regions" | "shift">,
  before: Size,
  after: Size,
): Piece[] {
  const whole = { from: 0, to: before.height, by: 0 };
  const strips = shift === 0 ? [] : regions.filter(([left, , width]) => left === 0 && width === after.width);
  const seams = strips.filter(([, , , height]) => height <= SEAM).length;
  const inserted = strips.reduce((rows, [, , , height]) => rows + (height > SEAM ? height : 0), 0);
  const removed = inserted - (after.height - before.height);
  const pieces: Piece[] = [];
  let [rest, largest] = [whole, 0];
  for (const [, top, , height] of strips) {
    const isSeam = height <= SEAM;
    const at = (isSeam ? top + SEAM / 2 : top) - rest.by;
    pieces.push({ ...rest, to: at });
    rest = { ...rest, from: isSeam ? at + removed : at, by: rest.by + (isSeam ? -removed : height) };
    largest = Math.max(largest, Math.abs(rest.by));
  }
  const isKnown = seams <= 1 && largest === Math.abs(shift);
  return isKnown ? [...pieces, rest].filter(({ from, to }) => from < to) : [whole];
}

/** Draws only these rows of an image, where the after image has them. */
export const pieceStyle = ({ from, to, by }: Piece, size: Size, whole: Size) => ({
  ...relativeSize(size, whole),
  top: percent(by, whole.height),
  clipPath: `inset(${percent(from, size.height)} 0 ${percent(size.height - to, size.height)})`,
});

/** The closest mode that this pair can be shown in; null: there is only one image. */
export function usableMode(
  { before, after, diff_url }: Pick<ComparedShot, "before" | "after" | "diff_url">,
  wanted: Mode,
): Mode | null {
  if (!before || !after) return null;
  return wanted === "diff" && diff_url === null ? "side" : wanted;
}
