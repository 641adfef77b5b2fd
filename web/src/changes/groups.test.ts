import { expect, test } from "vitest";
import type { Comparison } from "../lib/types";
import { firstShots, indexSections, sortByGroup, toSections } from "./groups";
import { comparedShot } from "./sample-comparisons";
import { shotsWithVerdict } from "./verdicts";

const groups: Comparison["groups"] = [
  { id: "r", kind: "removed", shots: 1, names: ["old"], title: "old: 1 screenshot removed" },
  { id: "a", kind: "single", shots: 1, names: ["step-2"], title: "step-2: 1 region in 1 screenshot" },
  { id: "b", kind: "single", shots: 1, names: ["step-10"], title: "step-10: 1 region in 1 screenshot" },
  { id: "p", kind: "same_pixels", shots: 2, names: ["cart", "home"], title: "cart, home: 1 region" },
];
const shots = shotsWithVerdict([
  comparedShot({ name: "step-10", group: "b" }),
  comparedShot({ name: "home", group: "p" }),
  comparedShot({ name: "step-2", group: "a" }),
  comparedShot({ name: "cart", group: "p", verdict: "moved" }),
  comparedShot({ name: "old", group: "r", verdict: "removed" }),
  comparedShot({ name: "lone" }),
  comparedShot({ name: "cut", verdict: "failed" }),
]);
const sorted = sortByGroup(shots, groups);
const sections = toSections(sorted, groups);

test("failed shots come first, then each group’s shots by name, then shots without a group", () => {
  expect(sorted.map(({ name }) => name)).toEqual(["cut", "old", "step-2", "step-10", "cart", "home", "lone"]);
  expect(sections.map(({ id }) => id)).toEqual(["failed", "r", "a", "b", "p", "changed"]);
  expect(sections[0]?.title).toBe("1 screenshot could not be compared");
});

test("the first shot with close-ups leads its section", () => {
  const closeups = [{ url: "", region: [0, 0, 1, 1] as [number, number, number, number] }];
  const [section] = toSections(
    shotsWithVerdict(
      ["a", "b", "c"].map((name) => comparedShot({ name, closeups: name === "a" ? [] : closeups })),
    ),
    [],
  );
  expect(section?.shots.map(({ name }) => name)).toEqual(["b", "a", "c"]);
});

test("the index has one entry for all groups of one name each", () => {
  expect(indexSections(sections).map(({ id, label, shots }) => [id, label, shots])).toEqual([
    ["failed", "1 screenshot could not be compared", 0],
    ["r", "Removed", 1],
    ["a", "Single changes", 2],
    ["p", "cart, home: 1 region", 0],
    ["changed", "1 screenshot changed", 0],
  ]);
});

test("a section can be cut, and empty sections are left out", () => {
  expect(firstShots(sections, 5).map(({ id, shots }) => [id, shots.length])).toEqual([
    ["failed", 1],
    ["r", 1],
    ["a", 1],
    ["b", 1],
    ["p", 1],
  ]);
});
