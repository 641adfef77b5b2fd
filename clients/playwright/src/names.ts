/** What a screenshot is called: after its test, and what it was attached as. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { TestCase, TestResult } from "@playwright/test/reporter";

export type Attachment = TestResult["attachments"][number];

const MAX_CHARACTERS = 200;
const EXTENSION = /\.(png|jpe?g|webp)$/i;
const TEST_FILE = /\.(spec|test|e2e)?\.?[cm]?[jt]sx?$/i;
const VIEWPORT = /@([1-9]\d{0,4}x[1-9]\d{0,4})$/;

/** What Playwright calls the screenshots that it takes by itself. */
const AUTOMATIC = "screenshot";
const TAKEN_AT_FAILURE = /^test-failed-\d+\.(png|jpe?g)$/;

export interface Title {
  name: string;
  /** What stands behind an @ at the end of the attachment's name, if it is a viewport. */
  viewport?: string;
}

/**
 * Return what an attachment is called: `file/describe/test/attachment`, behind the project's name where a run has
 * several. What Playwright takes when a test fails is under `failed/`; another try of a test says so.
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

  const attached = attachment.name.replace(EXTENSION, "");
  const viewport = VIEWPORT.exec(attached)?.[1];
  const own = attached.replace(VIEWPORT, "");
  if (own !== AUTOMATIC && own !== "") parts.push(own);
  return { name: shortened(parts.map(oneLine).filter(Boolean).join("/")), ...(viewport && { viewport }) };
}

function isOfFailure(attachment: Attachment): boolean {
  return attachment.name === AUTOMATIC && TAKEN_AT_FAILURE.test(basename(attachment.path ?? ""));
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, " ").trim();
}

/** Return a name that is not too long for the service, and still differs from others that begin alike. */
export function shortened(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= MAX_CHARACTERS) return name;
  const mark = `~${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
  return characters.slice(0, MAX_CHARACTERS - mark.length).join("") + mark;
}

/** Tells apart what would be called the same within one run: the second is -2. */
export class Names {
  readonly #taken = new Map<string, number>();

  own(title: Title): string {
    const key = JSON.stringify([title.name, title.viewport]);
    const count = (this.#taken.get(key) ?? 0) + 1;
    this.#taken.set(key, count);
    return count === 1 ? title.name : shortened(`${title.name}-${count}`);
  }
}
