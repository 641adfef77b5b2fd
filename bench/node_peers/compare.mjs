// Compare the images with the same names in two folders, one pair after the other, as a test runner does.
// Write a difference image for each changed pair, and print the number of changed pairs.
//
//   node compare.mjs pixelmatch|playwright BEFORE AFTER DIFFERENCES
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [name, before, after, differences] = process.argv.slice(2);

async function pixelmatch() {
  const { PNG } = await import("pngjs");
  const { default: match } = await import("pixelmatch");
  return (one, other) => {
    const [{ width, height, data }, second] = [PNG.sync.read(one), PNG.sync.read(other)];
    const difference = new PNG({ width, height });
    const pixels = match(data, second.data, difference.data, width, height);
    return pixels ? PNG.sync.write(difference) : null;
  };
}

function playwright() {
  const compare = createRequire(import.meta.url)("playwright-core/lib/coreBundle").utils.getComparator("image/png");
  return (one, other) => compare(other, one)?.diff ?? null;
}

const compare = await { pixelmatch, playwright }[name]();
mkdirSync(differences, { recursive: true });
let changed = 0;
for (const file of readdirSync(before)) {
  const difference = compare(readFileSync(join(before, file)), readFileSync(join(after, file)));
  if (difference) {
    writeFileSync(join(differences, file), difference);
    changed += 1;
  }
}
console.log(changed);
