// Builds the GitHub Action, action/index.mjs, from src/action. With --check: fails if the checked-in file differs.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));
const file = new URL("../../action/index.mjs", import.meta.url);

const { outputFiles } = await build({
  absWorkingDir: folder, // paths in the bundle are relative to it, so every machine builds the same bytes
  entryPoints: ["src/action/index.ts"],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "node20", // Gitea and Forgejo run the action with the Node of the job's image
  charset: "utf8",
  legalComments: "none",
  banner: { js: "// Built from clients/node/src/action by `make format`. Do not edit." },
});
const [built] = outputFiles;

if (process.argv.includes("--check")) {
  const checkedIn = await readFile(file, "utf8").catch(() => "");
  if (checkedIn !== built.text) {
    console.error("action/index.mjs is not what clients/node/src builds: run make format");
    process.exitCode = 1;
  }
} else await writeFile(file, built.text);
