/** The filter of a pull request's shots, as in the page's URL. */
import { sortNaturally } from "../lib/natural-order";
import type { PullRequest } from "../lib/types";
import type { ShotKey } from "./shot-key";

export interface ShotFilter {
  q: string;
  /** Empty: all of them. */
  viewport: string;
  theme: string;
  verdict: string;
}

/** Query parameters. They are plural, because "viewport" and "theme" belong to the open shot. */
const PARAMETERS = { q: "q", viewport: "viewports", theme: "themes", verdict: "verdicts" } as const;
const FIELDS = ["q", "viewport", "theme", "verdict"] as const;

export const NO_FILTER: ShotFilter = { q: "", viewport: "", theme: "", verdict: "" };

export const isUnfiltered = (filter: ShotFilter): boolean => FIELDS.every((field) => filter[field] === "");

export function shotFilterFrom(query: URLSearchParams): ShotFilter {
  const value = (field: keyof ShotFilter) => query.get(PARAMETERS[field])?.trim() ?? "";
  return { q: value("q"), viewport: value("viewport"), theme: value("theme"), verdict: value("verdict") };
}

export const filterParameters = (filter: ShotFilter): [string, string][] =>
  FIELDS.filter((field) => filter[field] !== "").map((field) => [PARAMETERS[field], filter[field]]);

/** Each word must be in the name, in upper or lower case. Ignores the verdict. */
export function filterShots<T>(
  items: T[],
  { q, viewport, theme }: ShotFilter,
  keyOf: (item: T) => ShotKey,
): T[] {
  const words = q.toLowerCase().split(/\s+/);
  return items.filter((item) => {
    const key = keyOf(item);
    if (viewport !== "" && key.viewport !== viewport) return false;
    if (theme !== "" && key.theme !== theme) return false;
    const name = key.name.toLowerCase();
    return words.every((word) => name.includes(word));
  });
}

/** The viewports and themes to choose from. */
export function filterOptions(keys: ShotKey[]): { viewports: string[]; themes: string[] } {
  return {
    viewports: sortNaturally(new Set(keys.map(({ viewport }) => viewport)), (viewport) => viewport),
    themes: [...new Set(keys.map(({ theme }) => theme))].filter((theme) => theme !== "").sort(),
  };
}

/** The search term of the pull request list, unless it matched the number or the commit instead of a name. */
export function nameTerm(pull: Pick<PullRequest, "pr_number" | "last_commit">, q: string): string {
  const found =
    String(pull.pr_number).startsWith(q.replace(/^#/, "")) || pull.last_commit.startsWith(q.toLowerCase());
  return found ? "" : q;
}
