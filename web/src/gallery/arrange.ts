/** How a pull request's shots lie in the gallery: one row for each name, one cell for each viewport. */
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

/** A name and viewport: what every commit takes its picture of again. */
export interface Place {
  name: string;
  viewport: string;
}

/** A viewport has no space in it, so no two places share a key. */
export const placeKey = ({ viewport, name }: Place): string => `${viewport} ${name}`;

export const samePlace = (one: Place, other: Place): boolean => placeKey(one) === placeKey(other);

export function viewportSize(viewport: string): Size {
  const [width = 0, height = 0] = viewport.split("x").map(Number);
  return width > 0 && height > 0 ? { width, height } : { width: 1280, height: 800 };
}

export const viewportLabel = (viewport: string): string => viewport.replace("x", " × ");

const NARROWEST = 0.46; // a phone held upright
const WIDEST = 2.4;

/** Width by height of the box a viewport's pictures are shown in, whatever size they turn out to have. */
export function boxAspect(viewport: string): number {
  const { width, height } = viewportSize(viewport);
  return Math.min(WIDEST, Math.max(NARROWEST, width / height));
}

/** Put shots, as they come page by page ordered by name, into rows: a name may go on in the next page. */
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

/** The order in which the lightbox goes through the gallery. */
export const inOrder = (rows: Row[]): Shot[] => rows.flatMap((row) => row.cells);

/** Where to go from a picture that is being deleted; null when it is the last one. */
export function afterDeleting(image: Image, commits: Image[], order: Shot[]): Image | null {
  const age = commits.findIndex(({ id }) => id === image.id);
  if (age > 0) return commits[age + 1] ?? commits[age - 1] ?? null;
  const at = order.findIndex(({ newest }) => samePlace(newest, image));
  return order[at + 1]?.newest ?? order[at - 1]?.newest ?? commits[1] ?? null;
}
