/** What both clients state: exit codes, options and messages of contract/client.json. */
import { CONTRACT } from "./contract.js";

export const EXIT_CODES = CONTRACT.exit_codes;

/** Return the code of an error in JSON output. */
export function errorCode({ name }: Error): string {
  return (CONTRACT.error_codes as Record<string, string>)[name] ?? "failed";
}

export type MessageName = keyof typeof CONTRACT.messages;

export const isMessage = (name: string): name is MessageName => name in CONTRACT.messages;

const PLACEHOLDER = /\{((?:--|prshots )?[a-z][a-z _-]*)\}/g;

/** Return a message with these values. `{--url}` and `{prshots compare}` become what `called` returns. */
export function message(name: MessageName, values: Record<string, string | number> = {}): string {
  return CONTRACT.messages[name].replace(PLACEHOLDER, (_, key: string) =>
    /^(--|prshots )/.test(key) ? called(key) : String(values[key]),
  );
}

type Naming = (name: string, variable: string) => string;

let naming: Naming = (name, variable) => (variable ? `${reporterOption(name)} (${variable})` : name);

/** Use these names in messages. The default is those of the reporter's options. */
export function setNames(names: Naming): void {
  naming = names;
}

/** Return an option, such as `--url`, or a command, such as `prshots compare`, as users know it. */
export function called(name: string): string {
  const options = CONTRACT.options as Record<string, object>;
  const { variable = "" }: { variable?: string } = options[name.slice(2)] ?? {};
  return naming(name, variable);
}

function reporterOption(name: string): string {
  return name === "--pr" ? "prNumber" : name.slice(2).replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}
