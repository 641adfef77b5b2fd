import assert from "node:assert/strict";
import { test } from "node:test";
import { BackgroundUploads } from "../dist/background_uploads.js";
import { fitName, UniqueNames, withoutSuffixes } from "../dist/shot_names.js";
import { PICTURES } from "./support/pictures.js";
import { testCases } from "./support/vectors.js";

/** Return a vector's text, which may be written as `{ repeat, times, then }`. */
function textOf(given) {
  return typeof given === "string" ? given : given.repeat.repeat(given.times) + (given.then ?? "");
}

testCases("shot_names", "suffixes", async ({ given, name, viewport, theme = "", refused }) => {
  const title = withoutSuffixes(given);
  if (refused) {
    const service = { maxImageBytes: async () => 1000, isKnown: () => assert.fail("it was sent") };
    const uploads = new BackgroundUploads(service, { prNumber: 7, commitSha: "0".repeat(40) });
    uploads.add({ body: PICTURES.png }, title.name, title.viewport);
    await uploads.finish();
    assert.equal(uploads.problems.length, 1);
    assert.ok(uploads.problems[0].includes(refused), uploads.problems[0]);
  } else assert.deepEqual(title, { name, viewport, theme });
});

testCases("shot_names", "fitted", ({ given, name }) => {
  assert.equal(fitName(textOf(given)), textOf(name));
});

testCases("shot_names", "repeated", ({ name, names }) => {
  const unique = new UniqueNames();
  const found = names.map(() => unique.name({ name: textOf(name), viewport: "", theme: "" }));
  assert.deepEqual(found, names.map(textOf));
});

test("the same name with another viewport or theme is not a duplicate", () => {
  const unique = new UniqueNames();
  const titles = [
    { name: "a", viewport: "", theme: "" },
    { name: "a", viewport: "1x1", theme: "" },
    { name: "a", viewport: "1x1", theme: "dark" },
    { name: "a", viewport: "1x1", theme: "" },
  ];
  assert.deepEqual(
    titles.map((title) => unique.name(title)),
    ["a", "a", "a", "a-2"],
  );
});

test("names that are released are given again", () => {
  const unique = new UniqueNames();
  const title = { name: "a", viewport: "", theme: "" };
  const named = (...owners) => owners.map((owner) => unique.name(title, owner));
  assert.deepEqual(named("one", "two", "two"), ["a", "a-2", "a-3"]);
  unique.release("two");
  assert.deepEqual(named("two", "two", "two"), ["a-2", "a-3", "a-4"]);
});
