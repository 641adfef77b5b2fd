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

type Region = ComparedShot["regions"][number];

/** A box of the before image, and how far the after image has its content to the right and down. */
export interface Piece {
  box: Region;
  dx: number;
  dy: number;
}

type Moved = Pick<ComparedShot, "regions" | "moves">;

/** Where the content of each move was in the before image, and that of changes amid content that moved. */
export function alignPieces({ regions, moves }: Moved): Piece[] {
  const amid = regions.flatMap((region) => {
    const [dx, dy] = offsetAmid(region, moves) ?? [0, 0];
    return dx || dy ? [toPiece([...region, dx, dy])] : [];
  });
  return [...moves.map(toPiece), ...amid];
}

type Move = ComparedShot["moves"][number];

const toPiece = ([x, y, width, height, dx, dy]: Move): Piece => ({
  box: [x - dx, y - dy, width, height],
  dx,
  dy,
});

/** How far from a change the content on both sides of it can be. */
const NEAR = 64;

/** The offset of the content on two opposite sides. With another one on each side, content came in between. */
function offsetAmid(region: Region, moves: Move[]): [number, number] | null {
  const sides = new Map<string, Set<string>>();
  for (const [x, y, width, height, dx, dy] of moves) {
    const [across, down] = [gap(region[0], region[2], x, width), gap(region[1], region[3], y, height)];
    const key = `${dx} ${dy}`;
    const found = sides.get(key) ?? new Set();
    sides.set(key, found);
    if (across < 0 && Math.abs(down) <= NEAR) found.add(y < region[1] ? "above" : "below");
    if (down < 0 && Math.abs(across) <= NEAR) found.add(x < region[0] ? "left" : "right");
    if (found.has("above") && found.has("below")) return [dx, dy];
    if (found.has("left") && found.has("right")) return [dx, dy];
  }
  return null;
}

/** Negative: how far two lines overlap. */
const gap = (start: number, length: number, other: number, otherLength: number): number =>
  Math.max(start, other) - Math.min(start + length, other + otherLength);

/** Draws only this piece of the before image, where the after image has it. */
export const pieceStyle = ({ box, dx, dy }: Piece, size: Size, whole: Size) => {
  const [x, y, width, height] = box;
  const insets = [
    percent(y, size.height),
    percent(size.width - x - width, size.width),
    percent(size.height - y - height, size.height),
    percent(x, size.width),
  ];
  return {
    ...relativeSize(size, whole),
    left: percent(dx, whole.width),
    top: percent(dy, whole.height),
    clipPath: `inset(${insets.join(" ")})`,
  };
};

/** Draws the before image without these pieces. Where two of them overlap, it stays. */
export function restStyle(pieces: Piece[], size: Size, whole: Size) {
  const point = (x: number, y: number) => `${percent(x, size.width)} ${percent(y, size.height)}`;
  const outline = ([x, y, width, height]: Region) =>
    [
      [x, y],
      [x + width, y],
      [x + width, y + height],
      [x, y + height],
      [x, y],
    ].map(([left = 0, top = 0]) => point(left, top));
  const page: Region = [0, 0, size.width, size.height];
  const holes = pieces.flatMap(({ box }) => [...outline(box), point(0, 0)]);
  return {
    ...relativeSize(size, whole),
    ...(pieces.length > 0 && { clipPath: `polygon(evenodd, ${[...outline(page), ...holes].join(", ")})` }),
  };
}

export interface View extends Size {
  left: number;
  top: number;
}

/**
 * How far the after image has content to the right and down that is in view on one side. Aligns the move that fills most
 * of the view; if none is in view, the largest. So content that didn’t move can be out of line beside it.
 */
export function offsetInView(moves: Move[], view: View, side: "before" | "after"): [number, number] {
  let [best, most] = [moves[0], 0];
  for (const move of moves) {
    const [x, y, width, height, dx, dy] = move;
    const [left, top] = side === "after" ? [x, y] : [x - dx, y - dy];
    const across = gap(view.left, view.width, left, width);
    const down = gap(view.top, view.height, top, height);
    const area = across < 0 && down < 0 ? across * down : 0;
    if (area > most) [best, most] = [move, area];
  }
  return best ? [best[4], best[5]] : [0, 0];
}

/** Where the before image has what is around a box of the after image. */
export function atBefore([x, y, width, height]: Region, moves: Move[]): Region {
  const around = { left: x - NEAR, top: y - NEAR, width: width + 2 * NEAR, height: height + 2 * NEAR };
  const [dx, dy] = offsetInView(moves, around, "after");
  return [Math.max(0, x - dx), Math.max(0, y - dy), width, height];
}

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
