/** The arguments of a command, as it takes them. */
import { parseArgs } from "node:util";
import { CONTRACT } from "../contract.js";
import { InvalidInputError, messageOf } from "../errors.js";
import { quote } from "../wording.js";
import type { Command, Option } from "./options.js";

/** The values of the options that were given, by their names. */
export class Given {
  constructor(
    readonly positionals: string[],
    private readonly values: Record<string, string | boolean | undefined>,
  ) {}

  /** Return whether a flag was given. */
  flag(name: string): boolean {
    return this.values[name] === true;
  }

  /** Return the texts of these options under their camelCase names. Those that were not given are left out. */
  texts<Name extends string>(...names: Name[]): { [name in Name as CamelCase<name>]?: string } {
    const given = names.flatMap((name) => {
      const value = this.values[name];
      return typeof value === "string" ? [[camelCase(name), value]] : [];
    });
    return Object.fromEntries(given);
  }

  /** Return the value of an option that takes only some values; undefined if it was not given. */
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    return choices.find((choice) => choice === this.values[name]);
  }

  /** Return a number; undefined if it was not given. Throws InvalidInputError. */
  number(name: string, largest: number): number | undefined {
    const given = this.values[name];
    if (typeof given !== "string") return undefined;
    const number = /^[0-9]{1,10}$/.test(given.trim()) ? Number(given) : 0;
    if (number < 1 || number > largest)
      throw new InvalidInputError(`--${name} takes a number from 1 to ${largest}; got ${quote(given)}`);
    return number;
  }

  jobs(): number | undefined {
    return this.number("jobs", CONTRACT.options.jobs.largest);
  }
}

type CamelCase<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Text;

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Parse a command's arguments; undefined if help was asked for. Throws InvalidInputError. */
export function parseArguments(name: string, command: Command, args: string[]): Given | undefined {
  const help: Option = { name: "help", short: "h", help: "" };
  const options = Object.fromEntries(
    [...command.options, help].map(({ name: option, short, takes }) => [
      option,
      { type: takes ? ("string" as const) : ("boolean" as const), ...(short && { short }) },
    ]),
  );
  const { values, positionals } = parseWith(name, () => parseArgs({ args, options, allowPositionals: true }));
  if (values.help) return undefined;
  if (!command.argument && positionals.length)
    throw invalid(name, `unexpected argument ${quote(positionals[0] ?? "")}`);
  if (command.argument && !positionals.length)
    throw invalid(name, `missing argument ${command.argument.name}`);
  for (const { name: option, choices } of command.options) checkChoice(option, values[option], choices);
  return new Given(positionals, values as Record<string, string | boolean | undefined>);
}

function checkChoice(option: string, value: unknown, choices: readonly string[] | undefined): void {
  if (typeof value !== "string" || !choices || choices.includes(value)) return;
  throw new InvalidInputError(`--${option} takes one of ${choices.join(", ")}; got ${quote(value)}`);
}

/** Parse, and turn the errors of parseArgs into ours. Their first sentence says what is wrong. */
function parseWith<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const [first = ""] = messageOf(error).split(/\. |\n/);
    throw invalid(name, first.charAt(0).toLowerCase() + first.slice(1));
  }
}

export function invalid(name: string, words: string): InvalidInputError {
  return new InvalidInputError(`${words}: see prshots ${name && `${name} `}--help`);
}
