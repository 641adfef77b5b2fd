// Builds the package. `npm install path/to/clients/node` runs this in a clone, where the build's packages are missing.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));

function npm(...words) {
  const shell = process.platform === "win32";
  const { status } = spawnSync("npm", words, { cwd: folder, stdio: "inherit", shell });
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(new URL("node_modules/typescript", import.meta.url))) npm("ci", "--ignore-scripts");
npm("run", "build");
