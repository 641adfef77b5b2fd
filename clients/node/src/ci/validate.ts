/**
 * What a variable may hold. Anything invalid counts as missing.
 *
 * The results go into addresses and requests unchanged.
 */
import { isIPv6 } from "node:net";
import type { Environ } from "./job.js";

const MAX_PR_NUMBER = 2_147_483_647;
const MAX_BRANCH_CHARACTERS = 255;
const MAX_WORDS_CHARACTERS = 300;
const FULL_COMMIT_SHA = /^[0-9a-f]{40}$/;
/** What git refuses in a branch's name, and what would be an option. */
const NOT_IN_BRANCHES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses these
  /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|\/\.|\.lock(?:\/|$)|[/.]$|^@$/;
const COMMIT_SHA = /^[0-9a-f]{7,40}$/i;
const REPOSITORY = /^(?:[0-9]{1,20}|(?!\.{1,2}\/)[\w.~-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+)$/;
const VISIBLE = /^[!-~]+$/;
const ADDRESS = /^https?:\/\/(?:[^/?#:@[\]]+|\[(?<ipv6>[0-9a-f:.]+)\])(?::(?<port>[0-9]*))?(?:[/?#]|$)/i;
const LARGEST_PORT = 65_535;
export const MAX_LENGTH = 2000;

export function isOn(environ: Environ, name: string): boolean {
  return !["", "false"].includes((environ[name] ?? "").trim().toLowerCase());
}

/** Return the first of these variables that is not empty. */
export function first(environ: Environ, ...names: string[]): string {
  return names.map((name) => environ[name]?.trim()).find(Boolean) ?? "";
}

/** Return a pull request's number, from a variable's text or from JSON. */
export function prNumber(given: unknown): number | undefined {
  const isText = typeof given === "string" && /^[0-9]{1,10}$/.test(given.trim());
  const number = isText ? Number(given) : given;
  if (typeof number !== "number" || !Number.isInteger(number)) return undefined;
  return number >= 1 && number <= MAX_PR_NUMBER ? number : undefined;
}

/** Return the first valid commit SHA, full or abbreviated, in lower case. */
export function commit(...candidates: unknown[]): string {
  const texts = candidates.map((given) => (typeof given === "string" ? given.trim() : ""));
  return texts.find((text) => COMMIT_SHA.test(text))?.toLowerCase() ?? "";
}

/** Return a commit SHA of 40 characters; nothing when it is abbreviated. */
export function fullCommit(given: unknown): string {
  const found = commit(given);
  return FULL_COMMIT_SHA.test(found) ? found : "";
}

/** Return a branch's name without `refs/heads/`; nothing when git has no such name. */
export function branch(given: unknown): string {
  if (typeof given !== "string" || !isUnicode(given)) return "";
  const name = given.trim().replace(/^refs\/heads\//, "");
  const length = Array.from(name).length;
  const isOne = length > 0 && length <= MAX_BRANCH_CHARACTERS && !NOT_IN_BRANCHES.test(name);
  return isOne && !name.startsWith("refs/") ? name : "";
}

/** Return a text for people in one line, shortened when it is too long. */
export function words(given: unknown): string {
  if (typeof given !== "string" || !isUnicode(given)) return "";
  const line = given.replaceAll("\0", " ").trim().split(/\s+/).join(" ");
  return Array.from(line).slice(0, MAX_WORDS_CHARACTERS).join("");
}

function isUnicode(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Return `owner/name` with any number of groups, or an id as GitLab has them. */
export function repository(given: unknown): string {
  if (typeof given !== "string" || given.length > MAX_LENGTH) return "";
  return REPOSITORY.test(given.trim()) ? given.trim() : "";
}

/** Return a token without surrounding space; nothing when a header cannot hold it. */
export function token(given: string): string {
  return VISIBLE.test(given.trim()) ? given.trim() : "";
}

/** Return an http(s) address with a host and without a password. */
export function address(given: unknown): string {
  if (typeof given !== "string" || given.length > MAX_LENGTH || !VISIBLE.test(given.trim())) return "";
  const found = ADDRESS.exec(given.trim());
  if (!found) return "";
  const { ipv6, port } = found.groups ?? {};
  const isHost = !ipv6 || isIPv6(ipv6);
  const isPort = !port || (Number(port) > 0 && Number(port) <= LARGEST_PORT);
  return isHost && isPort ? given.trim() : "";
}

/** Return an address that paths can be appended to. */
export function root(given: unknown): string {
  const found = address(given);
  return /[?#]/.test(found) ? "" : found.replace(/\/+$/, "");
}
