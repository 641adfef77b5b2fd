/** Texts for people, as the Python command writes them. */

/** What a terminal or a CI log may take as a command, or not show at all. */
const NOT_PRINTABLE = /[\p{C}\p{Z}]/gu;
const SHORT_ESCAPES: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** A CI's log runs lines such as `::set-output` and `##vso[`. File names and services must not print one. */
const COMMANDS = /^\s*:(?=:)|#(?=#\w*\[)/gm;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal runs these
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/g;

/** Return the text on one line, with commands and unprintable characters escaped. */
export function printable(text: string): string {
  return breakCommands(
    text.replace(NOT_PRINTABLE, (character) => (character === " " ? " " : escapeCharacter(character))),
  );
}

/** Return markdown that renders the same, without control characters. */
export function safeMarkdown(text: string): string {
  return breakCommands(text.replace(CONTROLS, ""));
}

/** Return JSON with the same values, without characters that some readers take as the end of a line. */
export function safeJson(text: string): string {
  return text.replace(/#(?=#)|[\x7f-\x9f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}

function breakCommands(text: string): string {
  return text.replace(COMMANDS, "$&\\");
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits: number) => code.toString(16).padStart(digits, "0");
  if (code > 0xffff) return `\\U${hex(8)}`;
  return SHORT_ESCAPES[character] ?? (code > 0xff ? `\\u${hex(4)}` : `\\x${hex(2)}`);
}

/** Return what the user gave, in quotes and shortened. */
export function quote(given: string, length = 60): string {
  const text = printable(Array.from(given).slice(0, length).join("").replaceAll("\\", "\\\\"));
  return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replaceAll("'", "\\'")}'`;
}

/** Return a number with separators: 1,234. */
export function formatNumber(count: number): string {
  return count.toLocaleString("en-US");
}

export function pluralize(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}
