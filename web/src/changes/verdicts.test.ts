import { expect, test } from "vitest";
import { shot } from "../gallery/sample-shots";
import { comparedShot, comparison } from "./sample-comparisons";
import {
  countChanges,
  countShots,
  createVerdictLookup,
  filterByVerdict,
  isChange,
  keepOrder,
  listCounts,
  shotsWithVerdict,
} from "./verdicts";

const shots = [
  comparedShot({ name: "a", verdict: "changed" }),
  comparedShot({ name: "b", verdict: "failed" }),
  comparedShot({ name: "c", verdict: "unchanged" }),
  comparedShot({ name: "d", verdict: "unchanged" }),
  comparedShot({ name: "e", verdict: null }),
];
const names = (verdict: string) => filterByVerdict(shotsWithVerdict(shots), verdict).map(({ name }) => name);

test("without a filter, every shot that a reviewer has to look at is shown", () => {
  expect(names("")).toEqual(["a", "b"]);
  expect(names("unchanged")).toEqual(["c", "d"]);
  expect(names("nonsense")).toEqual([]);
  expect(shots.map(isChange)).toEqual([true, true, false, false, false]);
});

test("only verdicts that occur are listed, in the order of the page", () => {
  const counts = { unchanged: 2, moved: 0, failed: 1, changed: 1 };
  expect(listCounts(counts)).toEqual([
    ["changed", 1],
    ["failed", 1],
    ["unchanged", 2],
  ]);
  expect([countShots(counts), countChanges(counts), countShots({})]).toEqual([4, 2, 0]);
});

test("an image newer than the compared one has no verdict yet", () => {
  const verdictOf = createVerdictLookup(comparison({ shots }));
  expect(verdictOf(shot("a", "1280x800", { commit_sha: "after" }))).toBe("changed");
  expect(verdictOf(shot("a", "1280x800", { commit_sha: "newer" }))).toBeNull();
  expect(verdictOf(shot("a", "375x812", { commit_sha: "after" }))).toBeNull();
  expect(createVerdictLookup(null)(shot("a", "1280x800"))).toBeNull();
});

test("new shots go to the end, and removed shots leave no gap", () => {
  const all = shotsWithVerdict(shots);
  const places = ["1280x800  d", "1280x800  gone", "1280x800  b"];
  expect(keepOrder(all, places).map(({ name }) => name)).toEqual(["d", "b", "a", "c"]);
  expect(keepOrder(all, [])).toEqual(all);
});
