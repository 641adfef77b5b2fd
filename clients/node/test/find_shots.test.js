import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { findShots } from "../dist/shots.js";
import { testCases, vectors } from "./support/vectors.js";

const images = Object.fromEntries(
  Object.entries(vectors("cut_off_images").images).map(([name, image]) => [
    name,
    Buffer.from(image, "base64"),
  ]),
);
const start = process.cwd();
const root = mkdtempSync(join(tmpdir(), "prshots-"));
after(() => {
  process.chdir(start);
  rmSync(root, { recursive: true });
});

/** Go to a new folder. */
function enterFolder() {
  process.chdir(mkdtempSync(join(root, "case-")));
}

function made(name, content = images.png) {
  if (typeof name === "string") mkdirSync(dirname(name), { recursive: true });
  writeFileSync(name, content);
}

function layOut({ files = [], contents = {}, not_utf8: notUtf8, folders = [], links = {}, pipes = [] }) {
  for (const name of files) made(name);
  for (const [name, content] of Object.entries(contents)) made(name, Buffer.from(content, "base64"));
  if (notUtf8) made(Buffer.from(notUtf8, "latin1"));
  for (const name of folders) mkdirSync(name);
  for (const [name, target] of Object.entries(links)) symlinkSync(target, name);
  for (const name of pipes) execFileSync("mkfifo", [name]);
}

testCases("find_shots", "found", async (vector) => {
  enterFolder();
  layOut(vector);
  process.chdir(vector.in ?? ".");
  if (vector.refused) {
    await assert.rejects(findShots(vector.paths, vector), { message: vector.refused });
    return;
  }
  const { shots, problems } = await findShots(vector.paths, vector);
  if (vector.shots)
    assert.deepEqual(
      shots.map(({ name, viewport, theme }) => [name, viewport, theme]),
      vector.shots,
    );
  else
    assert.deepEqual(
      shots.map(({ name }) => name),
      vector.names,
    );
  if (vector.found_at)
    assert.deepEqual(
      shots.map(({ path }) => path),
      vector.found_at,
    );
  const expected = vector.problems ?? {};
  const found = Object.fromEntries(problems.map(({ path, words }) => [path.replace("\ufffd", "?"), words]));
  assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort());
  for (const [path, words] of Object.entries(expected)) assert.ok(found[path].startsWith(words), found[path]);
  assert.equal(problems.filter(({ isMissing }) => isMissing).length, vector.missing ?? 0);
});

testCases("find_shots", "contents", async ({ file, image, drop = 0, content_type: contentType, ...said }) => {
  enterFolder();
  made(file, images[image].subarray(0, images[image].length - drop));
  const [shot] = (await findShots([file], { viewport: "3x2" })).shots;
  assert.equal(shot.contentType, contentType);
  assert.deepEqual([shot.note, shot.warning], [said.note ?? "", said.warning ?? ""]);
});
