// Writes src/contract.ts from the file that both clients read: src/prshots/contract/client.json.
import { readFile, writeFile } from "node:fs/promises";

const source = new URL("../../src/prshots/contract/client.json", import.meta.url);
const target = new URL("src/contract.ts", import.meta.url);

const json = (await readFile(source, "utf8")).trim();
const text = `/** Built from src/prshots/contract/client.json by contract.js. */\nexport const CONTRACT = ${json} as const;\n`;
if (text !== (await readFile(target, "utf8").catch(() => ""))) await writeFile(target, text);
