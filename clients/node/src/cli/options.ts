/** The commands and their options: what `--help` shows, and what parseArgs takes. */
import { CONTRACT } from "../contract.js";

export interface Option {
  /** Without the dashes. */
  name: string;
  short?: string;
  /** What the option takes; nothing for a flag. */
  takes?: string;
  /** The values that it takes, if there are only these. */
  choices?: readonly string[];
  /** The environment variable that also sets it. */
  variable?: string;
  default?: number;
  help: string;
}

export interface Command {
  argument?: { name: string; help: string };
  summary: string;
  details: readonly string[];
  options: Option[];
}

/** What an option does differently here. */
const ONLY_HERE: Record<string, string> = { shrink: "Here: only PNGs." };

export const COMMANDS: Record<string, Command> = Object.fromEntries(
  Object.entries(CONTRACT.commands).map(([name, command]) => [
    name,
    { ...command, options: command.options.map(optionOf) },
  ]),
);

function optionOf(key: keyof typeof CONTRACT.options): Option {
  const option = CONTRACT.options[key];
  const help = [option.help, ONLY_HERE[key]].filter(Boolean).join(" ");
  return { name: key, ...option, help };
}
