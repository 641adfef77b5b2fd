import assert from "node:assert/strict";
import { test } from "node:test";
import { titleOf } from "../dist/playwright/titles.js";
import { fitted, UniqueNames, withoutSuffixes } from "../dist/shot_names.js";
import { Uploads } from "../dist/uploading.js";
import { PICTURES } from "./support/pictures.js";
import { testCases } from "./support/vectors.js";

/** Return a vector's text, which may be written as `{ repeat, times, then }`. */
function textOf(given) {
  return typeof given === "string" ? given : given.repeat.repeat(given.times) + (given.then ?? "");
}

testCases("shot_names", "suffixes", async ({ given, name, viewport, theme = "", refused }) => {
  const title = withoutSuffixes(given);
  if (refused) {
    const service = { maxImageBytes: async () => 1000, upload: () => assert.fail("it was sent") };
    const uploads = new Uploads(service, { prNumber: 7, commitSha: "0".repeat(40) });
    uploads.add({ body: PICTURES.png }, title.name, title.viewport);
    await uploads.finished();
    assert.equal(uploads.problems.length, 1);
    assert.ok(uploads.problems[0].includes(refused), uploads.problems[0]);
  } else assert.deepEqual(title, { name, viewport, theme });
});

testCases("shot_names", "fitted", ({ given, name }) => {
  assert.equal(fitted(textOf(given)), textOf(name));
});

testCases("shot_names", "repeated", ({ name, names }) => {
  const unique = new UniqueNames();
  const found = names.map(() => unique.name({ name: textOf(name), viewport: "", theme: "" }));
  assert.deepEqual(found, names.map(textOf));
});

function titled(name, { path, project = "chromium", several = false, retry = 0, repeatEachIndex = 0 } = {}) {
  const titlePath = () => ["", project, "shop/cart.spec.ts", "empty", "says so"];
  const attachment = { name, path, contentType: "image/png" };
  return titleOf({ titlePath, repeatEachIndex }, { retry }, attachment, several);
}

test("a screenshot is named after its test and its attachment", () => {
  const test = "shop/cart/empty/says so";
  assert.deepEqual(titled("cart.png"), { name: `${test}/cart`, viewport: "", theme: "" });
  assert.deepEqual(titled("cart@390x844"), { name: `${test}/cart`, viewport: "390x844", theme: "" });
  assert.deepEqual(titled("@390x844.dark"), { name: test, viewport: "390x844", theme: "dark" });
  const finished = { path: "/out/test-finished-1.png" };
  assert.equal(titled("screenshot", finished).name, "shop/cart/empty/says so");
  const failed = { path: "/out/test-failed-1.png" };
  assert.equal(titled("screenshot", failed).name, "failed/shop/cart/empty/says so");
  assert.equal(titled("a\nb\n", { several: true }).name, "chromium/shop/cart/empty/says so/a b");
  const again = { retry: 1, repeatEachIndex: 2 };
  assert.equal(titled("a", again).name, "shop/cart/empty/says so (repeat 2, retry 1)/a");
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
