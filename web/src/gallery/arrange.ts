/** Arranges a pull request's shots: folders of rows, one row per name, one cell per viewport and theme. */
import { sortNaturally } from "../lib/natural-order";
import type { Image, Shot } from "../lib/types";
import { boxAspect, isSameShot } from "./shot-key";

export interface Row {
  name: string;
  /** The name without its folder. */
  label: string;
  /** The narrowest viewport first. */
  cells: Shot[];
}

export interface Folder {
  /** Empty: names without a folder. */
  path: string;
  rows: Row[];
}

const FEW_ROWS = 12;

/** Names without a folder first, then each folder; everything in natural order. A few rows need no folders. */
export function arrange(shots: Shot[]): Folder[] {
  const byName = groupBy(shots, ({ newest }) => newest.name);
  const rows = sortNaturally(byName.keys(), (name) => name).map((name) => ({
    name,
    label: name.slice(folderOf(name).length).replace(/^\//, ""),
    cells: sortNaturally(byName.get(name) ?? [], ({ newest }) => `${newest.viewport} ${newest.theme}`),
  }));
  const byFolder = groupBy(rows, ({ name }) => folderOf(name));
  if (byFolder.size === 1 || (rows.length > 0 && rows.length <= FEW_ROWS)) return [{ path: "", rows }];
  return sortNaturally(byFolder.keys(), (path) => path).map((path) => ({
    path,
    rows: byFolder.get(path) ?? [],
  }));
}

/** "a/b" of "a/b/c". A leading or trailing slash doesn't count. */
function folderOf(name: string): string {
  const slash = name.replace(/\/+$/, "").lastIndexOf("/");
  return slash > 0 ? name.slice(0, slash) : "";
}

function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** All shots, in the order of the lightbox. */
export const listShots = (folders: Folder[]): Shot[] =>
  folders.flatMap(({ rows }) => rows.flatMap((row) => row.cells));

export const rowCount = (folders: Folder[]): number =>
  folders.reduce((sum, { rows }) => sum + rows.length, 0);

/** The first `most` rows, in their folders. */
export function firstRows(folders: Folder[], most: number): Folder[] {
  const first: Folder[] = [];
  let room = most;
  for (const { path, rows } of folders) {
    if (room <= 0) break;
    first.push({ path, rows: rows.slice(0, room) });
    room -= rows.length;
  }
  return first;
}

/** The widest row's width in units of its height: the sum of its boxes' aspect ratios. */
export const widestRow = (folders: Folder[]): number =>
  Math.max(0, ...folders.flatMap(({ rows }) => rows.map(({ cells }) => widthOf(cells))));

const widthOf = (cells: Shot[]): number =>
  cells.reduce((sum, { newest }) => sum + boxAspect(newest.viewport), 0);

/** The image to show after deleting this one; null if it is the last. */
export function chooseAfterDelete(image: Image, commits: Image[], order: Shot[]): Image | null {
  const age = commits.findIndex(({ id }) => id === image.id);
  if (age > 0) return commits[age + 1] ?? commits[age - 1] ?? null;
  const at = order.findIndex(({ newest }) => isSameShot(newest, image));
  return order[at + 1]?.newest ?? order[at - 1]?.newest ?? commits[1] ?? null;
}
