import { expect, test } from "vitest";
import { buildHistory, findEntry } from "./history";
import { image } from "./sample-shots";

const of = (commit: string, sha256?: string) => ({
  ...image({ commit_sha: commit }),
  ...(sha256 ? { sha256 } : {}),
});
const summary = (...images: ReturnType<typeof of>[]) =>
  buildHistory(images).map(({ image, unchangedSince, images }) => [
    image.commit_sha,
    unchangedSince,
    images.length,
  ]);

test("each commit is one entry, and a second run of it replaces the first", () => {
  expect(summary(of("b"), of("b"), of("a"), of("b"))).toEqual([
    ["b", null, 3],
    ["a", null, 1],
  ]);
});

test("equal bytes in a row are one entry, unchanged since the first commit that had them", () => {
  expect(summary(of("d", "2"), of("c", "1"), of("b", "1"), of("a", "1"), of("0", "2"))).toEqual([
    ["d", null, 1],
    ["c", "a", 3],
    ["0", null, 1],
  ]);
});

test("without hashes, nothing is called unchanged", () => {
  expect(summary(of("b"), of("a"))).toEqual([
    ["b", null, 1],
    ["a", null, 1],
  ]);
});

test("an image is found in its entry, even if it is not the newest there", () => {
  const images = [of("c", "1"), of("b", "1"), of("a", "0")];
  const history = buildHistory(images);
  expect(images.map(({ id }) => findEntry(history, id))).toEqual([0, 0, 1]);
  expect(findEntry(history, "x")).toBe(-1);
});
