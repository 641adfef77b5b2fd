/** Which shots of a pull request the gallery shows, as in the URL of the page. */
import { naturally } from "../lib/natural-order";
import type { PullRequest } from "../lib/types";
import type { Place } from "./arrange";

export interface Wanted {
  q: string;
  /** Empty: all of them. */
  viewport: string;
  theme: string;
  verdict: string;
}

/** The URL's names. They are plural, because "viewport" and "theme" are those of the open shot. */
const PARAMETERS = { q: "q", viewport: "viewports", theme: "themes", verdict: "verdicts" } as const;
const FIELDS = ["q", "viewport", "theme", "verdict"] as const;

export const EVERYTHING: Wanted = { q: "", viewport: "", theme: "", verdict: "" };

export const isEverything = (wanted: Wanted): boolean => FIELDS.every((field) => wanted[field] === "");

export function wantedOf(query: URLSearchParams): Wanted {
  const value = (field: keyof Wanted) => query.get(PARAMETERS[field])?.trim() ?? "";
  return { q: value("q"), viewport: value("viewport"), theme: value("theme"), verdict: value("verdict") };
}

export const asParameters = (wanted: Wanted): [string, string][] =>
  FIELDS.filter((field) => wanted[field] !== "").map((field) => [PARAMETERS[field], wanted[field]]);

/** Each word must be in the name, in upper or lower case. The verdict is not looked at. */
export function find<T>(items: T[], { q, viewport, theme }: Wanted, placeOf: (item: T) => Place): T[] {
  const words = q.toLowerCase().split(/\s+/);
  return items.filter((item) => {
    const place = placeOf(item);
    if (viewport !== "" && place.viewport !== viewport) return false;
    if (theme !== "" && place.theme !== theme) return false;
    const name = place.name.toLowerCase();
    return words.every((word) => name.includes(word));
  });
}

/** What there is to choose from. */
export function choices(places: Place[]): { viewports: string[]; themes: string[] } {
  return {
    viewports: naturally(new Set(places.map(({ viewport }) => viewport)), (viewport) => viewport),
    themes: [...new Set(places.map(({ theme }) => theme))].filter((theme) => theme !== "").sort(),
  };
}

/** The term of a search in the list of pull requests, if it found a name, not a number or a commit. */
export function nameTerm(pull: Pick<PullRequest, "pr_number" | "last_commit">, q: string): string {
  const found =
    String(pull.pr_number).startsWith(q.replace(/^#/, "")) || pull.last_commit.startsWith(q.toLowerCase());
  return found ? "" : q;
}
