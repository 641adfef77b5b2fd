/** Recognizes misspelled PRSHOTS_ variables, as `contract/variables.py` does for the Python client. */
import type { Environ } from "./ci/job.js";
import { CONTRACT } from "./contract.js";
import { message } from "./statements.js";

const PREFIX = "PRSHOTS_";
const KNOWN: readonly string[] = CONTRACT.variables;
const SIMILAR = 0.8;

/** Return a warning for each variable that looks like a misspelled one of ours. */
export function misspelledVariables(environ: Environ): string[] {
  return Object.keys(environ)
    .filter((name) => name.startsWith(PREFIX) && environ[name])
    .map((name) => name.slice(PREFIX.length))
    .filter((name) => !KNOWN.includes(name))
    .sort()
    .flatMap((name) => {
      const meant = nearest(name);
      if (!meant) return [];
      return [message("misspelled_variable", { name: PREFIX + name, meant: PREFIX + meant })];
    });
}

function nearest(name: string): string | undefined {
  const swapped = KNOWN.find((known) => sortLetters(known) === sortLetters(name));
  if (swapped) return swapped;
  const [closest] = KNOWN.map((known) => ({ known, ratio: similarity(known, name) })).sort(
    (one, other) => other.ratio - one.ratio,
  );
  return closest && closest.ratio >= SIMILAR ? closest.known : undefined;
}

function sortLetters(name: string): string {
  return [...name].sort().join("");
}

/** Return a number from 0 (different) to 1 (equal), after Ratcliff and Obershelp. */
function similarity(one: string, other: string): number {
  return (2 * countMatching(one, other)) / (one.length + other.length);
}

/** Return how many characters match: those of the longest common part, and of what is left and right of it. */
function countMatching(one: string, other: string): number {
  for (let length = Math.min(one.length, other.length); length > 0; length--)
    for (let start = 0; start + length <= one.length; start++) {
      const at = other.indexOf(one.slice(start, start + length));
      if (at < 0) continue;
      const left = countMatching(one.slice(0, start), other.slice(0, at));
      return length + left + countMatching(one.slice(start + length), other.slice(at + length));
    }
  return 0;
}
