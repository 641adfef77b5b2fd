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

/** With more strips, there are too many combinations to try. */
const MOST_STRIPS = 6;

/**
 * Cuts the before image at the rows that were inserted and removed, so that the rest lies on the after image. A box as
 * wide as the page can also be a change without a shift, like a recolored header: it is left out if the shift is right
 * without it. The image stays whole if the boxes don’t say where each row went.
 */
export function alignPieces(
  { regions, shift }: Pick<ComparedShot, "regions" | "shift">,
  before: Size,
  after: Size,
): Piece[] {
  const strips = shift === 0 ? [] : regions.filter(([left, , width]) => left === 0 && width === after.width);
  for (const some of strips.length > MOST_STRIPS ? [strips] : largestFirst(strips)) {
    const pieces = cutAt(some, shift, before, after);
    if (pieces) return pieces;
  }
  return [{ from: 0, to: before.height, by: 0 }];
}

type Strips = ComparedShot["regions"];

const isSeam = ([, , , height]: Strips[number]): boolean => height <= SEAM;

/** Each choice of strips. A seam is never left out. */
const largestFirst = (strips: Strips): Strips[] =>
  Array.from({ length: 2 ** strips.length }, (_, left) =>
    strips.filter((strip, index) => isSeam(strip) || !((left >> index) & 1)),
  ).sort((one, other) => other.length - one.length);

/** The pieces between these strips, or null if they don’t result in the shift. */
function cutAt(strips: Strips, shift: number, before: Size, after: Size): Piece[] | null {
  const seams = strips.filter(isSeam).length;
  const inserted = strips.reduce((rows, strip) => rows + (isSeam(strip) ? 0 : strip[3]), 0);
  const removed = inserted - (after.height - before.height);
  const pieces: Piece[] = [];
  let [rest, largest] = [{ from: 0, to: before.height, by: 0 }, 0];
  for (const strip of strips) {
    const [, top, , height] = strip;
    const at = (isSeam(strip) ? top + SEAM / 2 : top) - rest.by;
    pieces.push({ ...rest, to: at });
    rest = {
      ...rest,
      ...(isSeam(strip) ? { from: at + removed, by: rest.by - removed } : { from: at, by: rest.by + height }),
    };
    largest = Math.max(largest, Math.abs(rest.by));
  }
  const isKnown = seams <= 1 && removed >= 0 && largest === Math.abs(shift);
  return isKnown ? [...pieces, rest].filter(({ from, to }) => from < to) : null;
}

/** Draws only these rows of an image, where the after image has them. */
export const pieceStyle = ({ from, to, by }: Piece, size: Size, whole: Size) => ({
  ...relativeSize(size, whole),
  top: percent(by, whole.height),
  clipPath: `inset(${percent(from, size.height)} 0 ${percent(size.height - to, size.height)})`,
});

/** The `object-position` at which a box of this aspect ratio shows a row of a long image, and some rows above it. */
export function cutPosition(row: number, image: Size, aspect: number): string {
  const rows = image.width / aspect;
  const hidden = Math.max(1, image.height - rows);
  return `0 ${Math.min(100, Math.max(0, ((row - rows / 4) / hidden) * 100))}%`;
}

/** The closest mode that this pair can be shown in; null: there is only one image. */
export function usableMode(
  { before, after, diff_url }: Pick<ComparedShot, "before" | "after" | "diff_url">,
  wanted: Mode,
): Mode | null {
  if (!before || !after) return null;
  return wanted === "diff" && diff_url === null ? "side" : wanted;
}
