/** The name, viewport and theme of a shot: what both clients and all their users agree on. */
import { createHash } from "node:crypto";

export const MAX_NAME_CHARACTERS = 200;
export const VIEWPORT = /^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$/;
export const THEMES: readonly string[] = ["light", "dark"];
const EXTENSION = /\.(png|jpe?g|webp)$/i;
/** A theme needs a viewport before it: `report.light` may be a report on light. */
const SUFFIXES = /^(.*)@([0-9]+x[0-9]+)(?:@[0-9.]+x)?(?:\.(light|dark))?$/s;

export interface Title {
  name: string;
  /** The viewport at the end of the given name; empty if there is none. */
  viewport: string;
  /** The theme after that viewport: light, dark or empty. */
  theme: string;
}

/** Split off the extension, the viewport and the theme: `cart@1280x800@2x.dark.png` is `cart` at `1280x800`. */
export function withoutSuffixes(given: string): Title {
  return suffixesOf(given.replace(EXTENSION, ""));
}

/** Split off the viewport and the theme. */
export function suffixesOf(stem: string): Title {
  const [, name = stem, viewport = "", theme = ""] = SUFFIXES.exec(stem) ?? [];
  return { name: viewport ? name.replace(/[ /]+$/, "") : name, viewport, theme };
}

/** Return a name that the service accepts. A name that is too long keeps its beginning and gets a hash. */
export function fitName(given: string): string {
  const name = clean(given);
  const characters = Array.from(name);
  if (characters.length <= MAX_NAME_CHARACTERS) return name;
  const mark = `~${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
  return characters.slice(0, MAX_NAME_CHARACTERS - mark.length).join("") + mark;
}

/** Return a name in one line, without control characters and lone surrogates. */
export function clean(given: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name has none of these
  return given.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, " ").replace(/\p{Surrogate}/gu, "?");
}

/** Gives the second screenshot of the same name, viewport and theme in a run the suffix -2. */
export class UniqueNames {
  /** Who uses a name, -2, -3 and so on. */
  readonly #taken = new Map<string, unknown[]>();

  /** `owner` is what can release the name again. */
  name(title: Title, owner: unknown = this): string {
    const key = JSON.stringify([title.name, title.viewport, title.theme]);
    const owners = this.#taken.get(key) ?? [];
    const free = owners.indexOf(undefined);
    const at = free < 0 ? owners.length : free;
    owners[at] = owner;
    this.#taken.set(key, owners);
    return at === 0 ? title.name : fitName(`${title.name}-${at + 1}`);
  }

  /** Free the owner's names: a test that runs again takes the same screenshots again. */
  release(owner: unknown): void {
    for (const owners of this.#taken.values())
      for (const [at, each] of owners.entries()) if (each === owner) owners[at] = undefined;
  }
}
