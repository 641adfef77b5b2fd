/** The name of a screenshot in Playwright: its test and the attachment's name, or what the option `name` makes of them. */
import type { TestCase } from "@playwright/test/reporter";
import { InvalidInputError } from "../errors.js";
import { clean, fitName, type Title, withoutSuffixes } from "../shot_names.js";
import type { Screenshot } from "./attachments.js";
import type { Projects } from "./projects.js";

/** What a name can be made of. */
export interface NameParts {
  /** The test's file, relative to the test folder and without `.spec.ts`. */
  file: string;
  /** The titles of the groups around the test, and the test's own. */
  titles: string[];
  /** The attachment's name; empty for a screenshot that Playwright took itself. */
  attachment: string;
  /** The project's name. */
  project: string;
  test: TestCase;
}

/** A template such as `{file}/{test}/{attachment}`, or a function that returns the name. */
export type Naming = string | ((parts: NameParts) => string);

export const DEFAULT_NAMING = "{file}/{titles}/{attachment}";

const TEST_FILE = /\.(spec|test|e2e)?\.?[cm]?[jt]sx?$/i;
const PLACEHOLDER = /\{(\w*)\}/g;
const FILLED: Record<string, (parts: NameParts) => string> = {
  file: ({ file }) => file,
  titles: ({ titles }) => titles.join("/"),
  groups: ({ titles }) => titles.slice(0, -1).join("/"),
  test: ({ titles }) => titles.at(-1) ?? "",
  attachment: ({ attachment }) => attachment,
  project: ({ project }) => project,
};

/** Return the option `name`. Throws InvalidInputError. */
export function namingOf(given: unknown): Naming {
  if (given === undefined || given === "") return DEFAULT_NAMING;
  if (typeof given === "function") return given as Naming;
  const takes = Object.keys(FILLED).map((name) => `{${name}}`);
  if (typeof given !== "string")
    throw new InvalidInputError(`name takes a function, or a template with ${takes.join(", ")}`);
  const unknown = [...given.matchAll(PLACEHOLDER)].find(([, name = ""]) => !Object.hasOwn(FILLED, name));
  if (unknown)
    throw new InvalidInputError(`name takes a template with ${takes.join(", ")}; got "${unknown[0]}"`);
  return given;
}

/**
 * Return a screenshot's name, viewport and theme. What Playwright takes when a test fails is under `failed/`. A project
 * is named at the end only if its screenshot is ambiguous without: `checkout/cart (firefox)`.
 */
export function titleOf(
  test: TestCase,
  { name, isOfFailure }: Pick<Screenshot, "name" | "isOfFailure">,
  projects: Projects,
  naming: Naming = DEFAULT_NAMING,
): Title {
  const [, project = "", file = "", ...titles] = test.titlePath();
  const own = withoutSuffixes(name);
  const made = nameBy(naming, {
    file: file.replaceAll("\\", "/").replace(TEST_FILE, ""),
    titles: titles.map(inOneFolder),
    attachment: own.name,
    project,
    test,
  });
  const isLeftOut = typeof naming === "string" && !naming.includes("{project}");
  const labels = [
    ...(isLeftOut && projects.isAmbiguous(project, own) ? [inOneFolder(project)] : []),
    ...(test.repeatEachIndex ? [`repeat ${test.repeatEachIndex}`] : []),
  ];
  const parts = (isOfFailure ? `failed/${made}` : made).split("/").map(inOneLine).filter(Boolean);
  const suffix = labels.length ? ` (${labels.join(", ")})` : "";
  return {
    name: fitName(parts.join("/") + suffix),
    ...projects.screen(project, own),
  };
}

/** Return the name by this rule; by the default rule if a function returns none. */
function nameBy(naming: Naming, parts: NameParts): string {
  if (typeof naming === "string")
    return naming.replace(PLACEHOLDER, (_, name) => FILLED[name]?.(parts) ?? "");
  const made: unknown = naming(parts);
  return typeof made === "string" && made.trim() ? made : nameBy(DEFAULT_NAMING, parts);
}

/** Return a title that is one part of a name: a slash in it does not start a folder, but looks the same. */
function inOneFolder(title: string): string {
  return inOneLine(title).replaceAll("/", "\u2215");
}

/** Return a text with one space for each line break, indentation or other white space. */
function inOneLine(text: string): string {
  return clean(text).replace(/\s+/g, " ").trim();
}
