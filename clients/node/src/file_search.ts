/** Find files by paths and patterns. */

import { isUtf8 } from "node:buffer";
import { type Dirent, lstatSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { messageOf } from "./errors.js";
import { byCodePoint } from "./natural_order.js";
import { message } from "./statements.js";

const MAGIC = /[*?[]/;

/** A file, and the folder that its name is relative to; empty if it was not found in one. */
export interface FoundFile {
  path: string;
  folder: string;
  /** The name cannot be read as text, so the file cannot be opened either. */
  isUnreadable: boolean;
}

export type OnProblem = (path: string, words: string, isMissing?: boolean) => void;

/** Yield the files in files, folders and globs. `isWanted` chooses among the files of a folder. */
export function* findFiles(
  paths: readonly string[],
  isWanted: (path: string) => boolean,
  onProblem: OnProblem,
): Generator<FoundFile> {
  for (const given of paths) {
    const start = normal(given);
    if (isFolder(given)) {
      for (const found of findMatches(start, ["**", "*"], onProblem))
        if (isWanted(found.path)) yield { ...found, folder: start || "." };
    } else if (isThere(given)) {
      // Before globs: a file name may look like a pattern, such as [id].png.
      yield { path: start, folder: "", isUnreadable: false };
    } else if (MAGIC.test(given)) yield* expandGlob(start, onProblem);
    else onProblem(given, message("no_such_path"), true);
  }
}

function* expandGlob(pattern: string, onProblem: OnProblem): Generator<FoundFile> {
  const parts = partsOf(pattern);
  const plain = parts.findIndex((part) => MAGIC.test(part));
  const folder = rootOf(pattern) + parts.slice(0, plain).join(path.sep);
  if (isFolder(folder || ".")) yield* findMatches(folder, parts.slice(plain), onProblem);
}

/**
 * Yield the files that match. Hidden ones match only a pattern that starts with a dot. `**` searches every folder, but
 * does not follow links to folders: they may form a cycle.
 */
function* findMatches(
  folder: string,
  pattern: readonly string[],
  onProblem: OnProblem,
): Generator<FoundFile> {
  const [first = "*", ...rest] = pattern;
  const entries = entriesOf(folder, onProblem);
  if (!entries) return;
  if (first === "**") yield* findMatches(folder, rest.length ? rest : ["*"], onProblem);
  const isMatch = first === "**" ? undefined : matcher(first);
  for (const entry of entries) {
    const at = join(folder, entry.name);
    if (entry.name.startsWith(".") && !first.startsWith(".")) continue;
    if (!isMatch) {
      if (entry.isDirectory) yield* findMatches(at, pattern, onProblem);
    } else if (isMatch.test(entry.name)) {
      const isOne = entry.isDirectory || (entry.isLink && isFolder(at));
      if (isOne && rest.length) yield* findMatches(at, rest, onProblem);
      else if (!isOne && !rest.length) yield { path: at, folder: "", isUnreadable: !entry.isText };
    }
  }
}

interface Entry {
  name: string;
  isText: boolean;
  isDirectory: boolean;
  isLink: boolean;
}

/** Return what is in a folder, by name; nothing if it cannot be read. */
function entriesOf(folder: string, onProblem: OnProblem): Entry[] | undefined {
  try {
    // As bytes: Node would replace what is not UTF-8, and another file may have that name.
    const found: Dirent<Buffer>[] = readdirSync(folder || ".", { withFileTypes: true, encoding: "buffer" });
    return found
      .map((entry) => ({
        name: entry.name.toString("utf8"),
        isText: isUtf8(entry.name),
        isDirectory: entry.isDirectory(),
        isLink: entry.isSymbolicLink(),
      }))
      .sort((one, other) => byCodePoint(one.name, other.name));
  } catch (error) {
    onProblem(folder || ".", message("cannot_search", { why: reasonOf(error) }));
    return undefined;
  }
}

/** Return why a file or folder cannot be read, without its path. */
export function reasonOf(error: unknown): string {
  return messageOf(error)
    .replace(/^[A-Z]+: /, "")
    .replace(/, \w+( '.*')?$/s, "");
}

/** Return a pattern for one name: `*`, `?`, `[abc]`, `[a-c]` and `[!abc]`. */
function matcher(pattern: string): RegExp {
  const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const source = pattern.replace(/\[(!?)(\]?[^\]]*)\]|./gsu, (part, not?: string, set?: string) => {
    if (set) return `[${not ? "^" : ""}${set.replace(/[\\\]^[]/g, "\\$&")}]`;
    return part === "*" ? ".*" : part === "?" ? "." : literal(part);
  });
  try {
    return new RegExp(`^(?:${source})$`, process.platform === "win32" ? "sui" : "su");
  } catch {
    return /^(?!)/; // a range such as [z-a] matches nothing
  }
}

/** Return the path without `.` and double separators. `..` stays: it may follow a link. */
export function normal(given: string): string {
  return rootOf(given) + partsOf(given).join(path.sep);
}

/** Return the names in a path. */
export function partsOf(given: string): string[] {
  const separators = path.sep === "\\" ? /[\\/]/ : "/";
  return given
    .slice(rootOf(given).length)
    .split(separators)
    .filter((part) => part && part !== ".");
}

function rootOf(given: string): string {
  return path.parse(given).root;
}

function join(folder: string, name: string): string {
  return !folder || folder === "."
    ? name
    : folder.endsWith(path.sep)
      ? folder + name
      : folder + path.sep + name;
}

function isFolder(given: string): boolean {
  try {
    return statSync(given).isDirectory();
  } catch {
    return false; // it is missing, or its path is too long or has a NUL
  }
}

function isThere(given: string): boolean {
  try {
    lstatSync(given);
    return true;
  } catch {
    return false;
  }
}
