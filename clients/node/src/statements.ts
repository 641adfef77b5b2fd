/** What both clients state: exit codes, options and messages of contract/client.json. */
import { CONTRACT } from "./contract.js";

export const EXIT_CODES = CONTRACT.exit_codes;

/** Return the code of an error in JSON output. */
export function errorCode({ name }: Error): string {
  return (CONTRACT.error_codes as Record<string, string>)[name] ?? "failed";
}

export type MessageName = keyof typeof CONTRACT.messages;

const PLACEHOLDER = /\{(--)?([a-z][a-z _-]*)\}/g;
const COMMAND = "prshots ";

/**
 * Return a message with these values. `{--url}` becomes the setting and its variable: `url (PRSHOTS_URL)`. A command such
 * as `{prshots compare}` becomes itself.
 */
export function message(name: MessageName, values: Record<string, string | number> = {}): string {
  return CONTRACT.messages[name].replace(PLACEHOLDER, (_, isOption: string | undefined, key: string) =>
    isOption ? setting(key) : key.startsWith(COMMAND) ? key : String(values[key]),
  );
}

/** Return a setting as the reporter's options have it, and its variable. The command turns it into its option. */
function setting(option: string): string {
  const { variable } = CONTRACT.options[option as "url"] as { variable?: string };
  if (!variable) return `--${option}`;
  const name = option === "pr" ? "prNumber" : option.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  return `${name} (${variable})`;
}
