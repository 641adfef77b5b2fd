import { expect, test } from "vitest";
import type { Comparison } from "../lib/types";
import { firstShots, indexSections, sortByGroup, toSections } from "./groups";
import { boxesOf, toParts, toShots } from "./parts";
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

const closeup = (url: string, top: number) => ({
  url,
  region: [0, top, 100, 50] as [number, number, number, number],
});

test("a shot is in each of its groups, with that part’s close-ups, boxes and review", () => {
  const [cart] = shotsWithVerdict([
    comparedShot({
      regions: [
        [0, 10, 9, 9],
        [0, 210, 9, 9],
        [0, 410, 9, 9],
      ],
      gone: [[5, 5, 5, 5]],
      closeups: [closeup("top", 0), closeup("middle", 200), closeup("end", 400)],
      groups: ["p", "a"],
      group: "p",
      parts: [
        { group: "p", regions: [0, 2], gone: [], closeup: 2, review: "approved", by: ["ann", "bob"] },
        { group: "a", regions: [1], gone: [0], closeup: 1, review: "open", by: [] },
      ],
      review: { state: "open", by: "", at: null, note: "", pin: null },
    }),
  ]);
  const parts = cart ? toParts(cart) : [];
  const shown = toSections(sortByGroup(parts, groups), groups);
  expect(shown.map(({ id, shots }) => [id, shots.map(({ review: { state, by } }) => [state, by])])).toEqual([
    ["a", [["open", ""]]],
    ["p", [["approved", "ann and bob"]]],
  ]);
  expect(parts.map(({ closeups }) => closeups.map(({ url }) => url))).toEqual([["end", "top"], ["middle"]]);
  expect(parts.map((each) => each.part && boxesOf(each, each.part))).toEqual([
    {
      regions: [
        [0, 10, 9, 9],
        [0, 410, 9, 9],
      ],
      gone: [],
    },
    { regions: [[0, 210, 9, 9]], gone: [[5, 5, 5, 5]] },
  ]);
  expect(toShots(parts, cart ? [cart] : [])).toEqual([cart]);
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
