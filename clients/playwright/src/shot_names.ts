/** The name of a screenshot: its test, and the attachment's name. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { TestCase, TestResult } from "@playwright/test/reporter";

export type Attachment = TestResult["attachments"][number];

export const MAX_NAME_CHARACTERS = 200;
const EXTENSION = /\.(png|jpe?g|webp)$/i;
const TEST_FILE = /\.(spec|test|e2e)?\.?[cm]?[jt]sx?$/i;
/** A theme needs a viewport before it: `report.light` may be a report on light. */
const SUFFIXES = /^(.*)@([0-9]+x[0-9]+)(?:@[0-9.]+x)?(?:\.(light|dark))?$/s;

/** Playwright's name for the screenshots that it takes itself. */
const AUTOMATIC = "screenshot";
const TAKEN_AT_FAILURE = /^test-failed-\d+\.(png|jpe?g)$/;

export interface Title {
  name: string;
  /** The viewport at the end of the attachment's name; empty if there is none. */
  viewport: string;
  /** The theme after that viewport: light, dark or empty. */
  theme: string;
}

/**
 * Return an attachment's name: `file/describe/test/attachment`, after the project's name if the run has several. What
 * Playwright takes when a test fails is under `failed/`. A retry says so.
 */
export function titleOf(
  test: TestCase,
  result: TestResult,
  attachment: Attachment,
  severalProjects: boolean,
): Title {
  const [, project = "", file = "", ...titles] = test.titlePath();
  const parts = [file.replaceAll("\\", "/").replace(TEST_FILE, ""), ...titles];
  if (severalProjects && project) parts.unshift(project);
  const again = [
    ...(test.repeatEachIndex ? [`repeat ${test.repeatEachIndex}`] : []),
    ...(result.retry ? [`retry ${result.retry}`] : []),
  ];
  if (again.length) parts.push(`${parts.pop()} (${again.join(", ")})`);
  if (isOfFailure(attachment)) parts.unshift("failed");

  const own = withoutSuffixes(attachment.name);
  if (own.name !== AUTOMATIC) parts.push(own.name);
  const name = parts.map((part) => clean(part).trim()).filter(Boolean);
  return { ...own, name: fitted(name.join("/")) };
}

function isOfFailure(attachment: Attachment): boolean {
  return attachment.name === AUTOMATIC && TAKEN_AT_FAILURE.test(basename(attachment.path ?? ""));
}

/** Split off the extension, the viewport and the theme: `cart@1280x800@2x.dark.png` is `cart` at `1280x800`. */
export function withoutSuffixes(given: string): Title {
  const stem = given.replace(EXTENSION, "");
  const [, name = stem, viewport = "", theme = ""] = SUFFIXES.exec(stem) ?? [];
  return { name: viewport ? name.replace(/[ /]+$/, "") : name, viewport, theme };
}

/** Return a name that the service accepts. A name that is too long keeps its beginning and gets a hash. */
export function fitted(given: string): string {
  const name = clean(given);
  const characters = Array.from(name);
  if (characters.length <= MAX_NAME_CHARACTERS) return name;
  const mark = `~${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
  return characters.slice(0, MAX_NAME_CHARACTERS - mark.length).join("") + mark;
}

/** Return a name in one line, without control characters and lone surrogates. */
function clean(given: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name has none of these
  return given.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, " ").replace(/\p{Surrogate}/gu, "?");
}

/** Gives the second screenshot of the same name, viewport and theme in a run the suffix -2. */
export class UniqueNames {
  readonly #taken = new Map<string, number>();

  name(title: Title): string {
    const key = JSON.stringify([title.name, title.viewport, title.theme]);
    const count = (this.#taken.get(key) ?? 0) + 1;
    this.#taken.set(key, count);
    return count === 1 ? title.name : fitted(`${title.name}-${count}`);
  }
}
