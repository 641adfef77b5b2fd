/** What both clients state: exit codes, options and messages of contract/client.json. */
import { CONTRACT } from "./contract.js";

export const EXIT_CODES = CONTRACT.exit_codes;

export type MessageName = keyof typeof CONTRACT.messages;

const PLACEHOLDER = /\{(--)?([a-z][a-z_-]*)\}/g;

/** Return a message with these values. `{--url}` becomes the setting and its variable: `url (PRSHOTS_URL)`. */
export function message(name: MessageName, values: Record<string, string | number> = {}): string {
  return CONTRACT.messages[name].replace(PLACEHOLDER, (_, isOption: string | undefined, key: string) =>
    isOption ? setting(key) : String(values[key]),
  );
}

/** Return a setting as the reporter's options have it, and its variable. The command turns it into its option. */
function setting(option: string): string {
  const { variable } = CONTRACT.options[option as "url"];
  const name = option === "pr" ? "prNumber" : option.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  return `${name} (${variable})`;
}
