/** The texts of `--help`. */
import { CONTRACT } from "../contract.js";
import { COMMANDS, type Command, type Option } from "./options.js";

const WIDTH = 100;

const INTRODUCTION = [
  "Show screenshots in pull requests: upload them from CI to a prshots service.",
  ...CONTRACT.general_help,
];

export function generalHelp(): string {
  const rows: [string, string][] = Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]);
  const options: [string, string][] = [
    ["--version", CONTRACT.options.version.help],
    ["-h, --help", "Show this message and exit."],
  ];
  return [
    "Usage: prshots [OPTIONS] COMMAND [ARGS]…\n",
    ...INTRODUCTION.map(paragraph),
    `Options:\n${table(options)}`,
    `Commands:\n${table(rows)}`,
  ].join("\n");
}

export function helpOf(name: string, command: Command): string {
  const rows = command.options.map((option): [string, string] => [signature(option), explanation(option)]);
  const usage = ["Usage: prshots", name, "[OPTIONS]", command.argument?.name].filter(Boolean).join(" ");
  return [
    `${usage}\n`,
    ...[command.summary, ...command.details].map(paragraph),
    ...(command.argument ? [`Arguments:\n${table([[command.argument.name, command.argument.help]])}`] : []),
    `Options:\n${table([...rows, ["-h, --help", "Show this message and exit."]])}`,
  ].join("\n");
}

function signature({ name, short, takes, choices }: Option): string {
  const taken = choices ? `[${choices.join("|")}]` : takes;
  return `${short ? `-${short}, ` : ""}--${name}${taken ? ` ${taken}` : ""}`;
}

function explanation({ help, variable, default: usual }: Option): string {
  const notes = [variable && ` [env: ${variable}]`, usual && ` [default: ${usual}]`];
  return [help, ...notes].filter(Boolean).join("");
}

function paragraph(text: string): string {
  return `${wrap(text, WIDTH - 2)
    .map((line) => `  ${line}\n`)
    .join("")}`;
}

/** Return two columns. A long first cell gets its own line. */
function table(rows: [string, string][]): string {
  const left = Math.min(Math.max(...rows.map(([cell]) => cell.length)), 26);
  return rows
    .map(([cell, text]) => {
      const [first = "", ...rest] = wrap(text, WIDTH - left - 4);
      const indent = " ".repeat(left + 4);
      const start = cell.length > left ? `  ${cell}\n${indent}` : `  ${cell.padEnd(left)}  `;
      return `${[start + first, ...rest.map((line) => indent + line)].join("\n")}\n`;
    })
    .join("");
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
