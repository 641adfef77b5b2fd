/** Find the screenshots among files, and their names, viewports and themes, before anything is uploaded. */

import { open, stat } from "node:fs/promises";
import path from "node:path";
import { InvalidInputError } from "./errors.js";
import { type FoundFile, findFiles, partsOf, reasonOf } from "./file_search.js";
import { type ContentType, contentTypeOf, isCutOff, LABELS, pixelSize } from "./formats.js";
import { byNumbers } from "./natural_order.js";
import { MAX_NAME_CHARACTERS, suffixesOf, THEMES, VIEWPORT } from "./shot_names.js";
import { message } from "./statements.js";
import { quote } from "./wording.js";

/** The extensions to look for in a folder. What a file really is depends on its content. */
const EXTENSIONS: Record<string, ContentType> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp",
};
/** A larger file is judged by its beginning. No service takes it as it is. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

/** A screenshot's file, and the name, viewport and theme to upload it under. */
export interface ShotFile {
  path: string;
  name: string;
  viewport: string;
  theme: string;
  contentType: ContentType;
  /** In bytes. */
  size: number;
  /** For the user. A file with a warning is uploaded anyway. */
  note: string;
  warning: string;
}

/** Why a path is not a usable screenshot. `isMissing`: the path does not exist. */
export interface Problem {
  path: string;
  words: string;
  isMissing: boolean;
}

export interface Found {
  shots: ShotFile[];
  problems: Problem[];
}

export interface Naming {
  /** The folder that names are relative to. */
  base?: string;
  /** The name of a single file. */
  name?: string;
  viewport?: string;
  theme?: string;
}

/**
 * Find screenshots in files, folders and globs (including `**`), and sort them by name.
 *
 * The name is the path without its extension: relative to `base` if given, otherwise relative to the folder that was
 * searched, otherwise as given, without leading `..`. The viewport is the suffix after an `@`, as in
 * `cart@1280x800.png`, otherwise the image's size in pixels. A theme may follow it: `cart@1280x800.dark.png`.
 *
 * Throws InvalidInputError if another argument is invalid. An invalid file becomes a problem instead.
 */
export async function findShots(paths: readonly string[], naming: Naming = {}): Promise<Found> {
  const { base = "", name = "", viewport = "", theme = "" } = naming;
  if (viewport && !VIEWPORT.test(viewport))
    throw new InvalidInputError(message("invalid_viewport", { given: quote(viewport) }));
  if (theme && !THEMES.includes(theme))
    throw new InvalidInputError(message("invalid_theme", { given: quote(theme) }));
  const problems: Problem[] = [];
  const onProblem = (at: string, words: string, isMissing = false) =>
    problems.push({ path: at, words, isMissing });
  const files = withoutRepetitions([...findFiles(paths, hasExtension, onProblem)]);
  if (name && files.length > 1) throw new InvalidInputError(message("name_for_one", { count: files.length }));
  const shots = new Map<string, ShotFile>();
  for (const file of files) {
    try {
      const shot = await shotFrom(file, { base: base || file.folder, name, viewport, theme });
      const other = shots.get(keyOf(shot));
      if (other) throw new InvalidInputError(sameShot(shot, other));
      shots.set(keyOf(shot), shot);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      onProblem(file.path, error.message);
    }
  }
  return { shots: [...shots.values()].sort(inOrder), problems };
}

/** What makes it the same shot as another one. */
export function keyOf({ name, viewport, theme }: Pick<ShotFile, "name" | "viewport" | "theme">): string {
  return JSON.stringify([name, viewport, theme]);
}

/** Return what is wrong and what to do, in words that read well after the file's path. */
export function cutOffWarning(contentType: ContentType): string {
  return message("cut_off", { format: LABELS[contentType] });
}

function hasExtension(file: string): boolean {
  return path.extname(file).toLowerCase() in EXTENSIONS;
}

/** Return each file once, as it was found first. Paths and patterns may overlap. */
function withoutRepetitions(files: FoundFile[]): FoundFile[] {
  const byPath = new Map(files.reverse().map((file) => [path.resolve(file.path), file]));
  return [...byPath.values()].reverse();
}

function sameShot({ theme }: ShotFile, other: ShotFile): string {
  return message(theme ? "same_themed_shot" : "same_shot", { other: other.path });
}

function inOrder(one: ShotFile, other: ShotFile): number {
  return byNumbers([one.name, one.viewport, one.theme], [other.name, other.viewport, other.theme]);
}

/** Return a file as a screenshot. Throws InvalidInputError with a message that reads well after the file's path. */
async function shotFrom(file: FoundFile, given: Required<Naming>): Promise<ShotFile> {
  const title = given.name
    ? { name: given.name, viewport: "", theme: "" }
    : suffixesOf(nameOf(file.path, given.base));
  checkName(title.name);
  if (file.isUnreadable) throw new InvalidInputError("has a name that is not UTF-8: rename it");
  const { contentType, size, pixels, warning } = await inspect(file.path);
  const viewport = given.viewport || title.viewport || pixels;
  if (!viewport) throw new InvalidInputError(message("no_pixel_size"));
  if (!VIEWPORT.test(viewport)) throw new InvalidInputError(message("viewport_out_of_range", { viewport }));
  const namedAs = EXTENSIONS[path.extname(file.path).toLowerCase()] ?? contentType;
  const note = namedAs === contentType ? "" : message("other_format", { format: LABELS[contentType] });
  const theme = given.theme || title.theme;
  return { path: file.path, name: title.name, viewport, theme, contentType, size, note, warning };
}

function nameOf(file: string, folder: string): string {
  const stem = hasExtension(file) ? file.slice(0, -path.extname(file).length) : file;
  const relative = partsOf(path.relative(folder || ".", stem));
  if (!relative.includes("..")) return relative.join("/");
  if (folder) throw new InvalidInputError(message("not_in_base", { folder }));
  // Outside the working folder: as given.
  return partsOf(path.normalize(stem))
    .filter((part) => part !== "..")
    .join("/");
}

function checkName(name: string): void {
  if (!name) throw new InvalidInputError(message("no_name"));
  const { length } = Array.from(name);
  if (length > MAX_NAME_CHARACTERS)
    throw new InvalidInputError(message("name_too_long", { count: length, limit: MAX_NAME_CHARACTERS }));
  if (name.includes("\0") || /\p{Surrogate}/u.test(name))
    throw new InvalidInputError(message("name_not_text"));
}

interface Inspected {
  contentType: ContentType;
  size: number;
  /** Such as 1280x800; empty if the file doesn't say. */
  pixels: string;
  /** Not empty if the file is damaged. */
  warning: string;
}

async function inspect(file: string): Promise<Inspected> {
  const { size, data } = await beginningOf(file);
  if (!data.length) throw new InvalidInputError(message("empty_file"));
  const contentType = contentTypeOf(data);
  if (!contentType) throw new InvalidInputError(message("not_an_image"));
  const isDamaged = size <= data.length && isCutOff(data);
  const pixels = pixelSize(data);
  return {
    contentType,
    size,
    pixels: pixels ? `${pixels.width}x${pixels.height}` : "",
    warning: isDamaged ? cutOffWarning(contentType) : "",
  };
}

/** Throws InvalidInputError unless it is a regular file: reading a pipe would block. */
export async function requireFile(file: string): Promise<void> {
  if (!(await stat(file)).isFile()) throw new InvalidInputError(message("not_a_file"));
}

/** Return a file's size and what it begins with. Throws InvalidInputError. */
async function beginningOf(file: string): Promise<{ size: number; data: Buffer }> {
  try {
    await requireFile(file);
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const data = Buffer.alloc(Math.min(size, MAX_READ_BYTES));
      const { bytesRead } = await handle.read(data, 0, data.length, 0);
      return { size, data: data.subarray(0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(message("cannot_read", { why: reasonOf(error) }));
  }
}
