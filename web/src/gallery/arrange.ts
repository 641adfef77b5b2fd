/** Arranges a pull request's shots: one row per name, one cell per viewport. */
import type { Image, Shot } from "../lib/types";

export interface Row {
  name: string;
  /** The narrowest viewport first. */
  cells: Shot[];
}

export interface Size {
  width: number;
  height: number;
}

/** A name and viewport: each commit has an image of it. */
export interface Place {
  name: string;
  viewport: string;
}

/** A viewport contains no space, so no two places share a key. */
export const placeKey = ({ viewport, name }: Place): string => `${viewport} ${name}`;

export const samePlace = (one: Place, other: Place): boolean => placeKey(one) === placeKey(other);

export function viewportSize(viewport: string): Size {
  const [width = 0, height = 0] = viewport.split("x").map(Number);
  return width > 0 && height > 0 ? { width, height } : { width: 1280, height: 800 };
}

export const viewportLabel = (viewport: string): string => viewport.replace("x", " × ");

const NARROWEST = 0.46; // a phone held upright
const WIDEST = 2.4;

/** The aspect ratio of the box for images of a viewport, independent of their real size. */
export function boxAspect(viewport: string): number {
  const { width, height } = viewportSize(viewport);
  return Math.min(WIDEST, Math.max(NARROWEST, width / height));
}

/** Group shots into rows. They come in pages ordered by name, so a row may continue on the next page. */
export function arrange(shots: Shot[]): Row[] {
  const rows = new Map<string, Shot[]>();
  for (const shot of shots) {
    const cells = rows.get(shot.newest.name);
    if (cells) cells.push(shot);
    else rows.set(shot.newest.name, [shot]);
  }
  return [...rows].map(([name, cells]) => ({ name, cells: cells.sort(byViewport) }));
}

function byViewport(one: Shot, other: Shot): number {
  const a = viewportSize(one.newest.viewport);
  const b = viewportSize(other.newest.viewport);
  return a.width - b.width || a.height - b.height;
}

/** The order of the lightbox. */
export const inOrder = (rows: Row[]): Shot[] => rows.flatMap((row) => row.cells);

/** The image to show after deleting this one; null if it is the last. */
export function afterDeleting(image: Image, commits: Image[], order: Shot[]): Image | null {
  const age = commits.findIndex(({ id }) => id === image.id);
  if (age > 0) return commits[age + 1] ?? commits[age - 1] ?? null;
  const at = order.findIndex(({ newest }) => samePlace(newest, image));
  return order[at + 1]?.newest ?? order[at - 1]?.newest ?? commits[1] ?? null;
}
