import { expect, test } from "vitest";
import { decidedIn, isDone, toSections } from "../changes/groups";
import { toParts } from "../changes/parts";
import { comparedShot } from "../changes/sample-comparisons";
import type { ShotWithVerdict } from "../changes/verdicts";
import type { Gate, Review, Verdict } from "../lib/types";
import { describeEnd } from "../noise/quarantine-end";
import { pinAt } from "./pins";
import {
  applyStep,
  countReviews,
  describeLeft,
  isDecidable,
  NO_NOTE,
  nextOpen,
  openInGroup,
  pairOf,
  rejectableInGroup,
  type Step,
  undoSteps,
} from "./reviews";

function shot(
  name: string,
  state: Review["state"] = "open",
  more: Partial<ShotWithVerdict> = {},
): ShotWithVerdict {
  const verdict: Verdict = "changed";
  const review: Review = { state, by: state === "open" ? "" : "ann", at: null, note: "", pin: null };
  return { ...comparedShot({ name, pixels_before: "b", pixels_after: name }), verdict, review, ...more };
}

const gate = (some: Partial<Gate>): Gate => ({ state: "waiting", open: 0, reason: "", ...some });
const names = (shots: (ShotWithVerdict | undefined)[]) => shots.map((each) => each?.name);

test("says what is left, and what to do at the end", () => {
  const words = (shots: ShotWithVerdict[], state: Partial<Gate>) =>
    describeLeft(gate(state), countReviews(shots));
  const unneeded = [shot("seen", "seen_before"), shot("flaky", "quarantined"), shot("n", "not_needed")];
  const failed = shot("bad", "open", { verdict: "failed" });
  expect(words([shot("a"), shot("b", "approved"), failed, ...unneeded], {})).toBe("1 of 2 to review");
  expect(words([shot("a", "rejected"), shot("b", "approved")], { state: "rejected" })).toBe(
    "1 screenshot rejected: push a fix.",
  );
  expect(words([shot("a", "approved")], { state: "passed" })).toBe("Everything is reviewed.");
  expect(words([shot("a", "approved")], { state: "blocked", reason: "incomplete" })).toBe("");
  expect(words(unneeded, { state: "passed" })).toBe("");
});

test("only open, decided and new shots take a decision", () => {
  const isNew = { verdict: "new", pixels_before: "" } as const;
  expect(["open", "approved", "rejected"].map((state) => isDecidable(shot("a", state as "open")))).toEqual([
    true,
    true,
    true,
  ]);
  expect(isDecidable(shot("a", "not_needed", isNew))).toBe(true);
  expect(isDecidable(shot("a", "not_needed"))).toBe(false);
  expect(isDecidable(shot("a", "quarantined"))).toBe(false);
  expect(isDecidable(shot("a", "open", { verdict: "failed" }))).toBe(false);
  expect(isDecidable(shot("a", "open", { pixels_before: "", pixels_after: "" }))).toBe(false);
});

test("the next open shot comes after the decided one, or from the start", () => {
  const order = [shot("a"), shot("b", "approved"), shot("c"), shot("d")] as const;
  const [a, , c, d] = order;
  expect(names([nextOpen([...order], a, [a]), nextOpen([...order], d, [d])])).toEqual(["c", "a"]);
  expect(nextOpen([...order], c, [a, c, d])).toBeUndefined();
});

test("approving a group covers its open shots, rejecting it also covers its approved shots", () => {
  const [a, b] = [shot("a"), shot("b", "open", { group: "g" })];
  const others = (["open", "approved", "rejected"] as const).map((state) =>
    shot(state, state, { group: "g" }),
  );
  const order = [a, b, ...others, shot("e")];
  expect(names(openInGroup(order, b))).toEqual(["b", "open"]);
  expect(names(rejectableInGroup(order, b))).toEqual(["b", "open", "approved"]);
  expect(names(openInGroup(order, a))).toEqual(["a"]);
  expect(names(rejectableInGroup(order, a))).toEqual(["a"]);
});

test("undo withdraws decisions and restores former ones with their notes", () => {
  const pin = { x: 0.1, y: 0.2 };
  const rejected = shot("b", "rejected");
  rejected.review = { ...rejected.review, note: "too red", pin };
  const steps = undoSteps([shot("a"), rejected, shot("c"), shot("d", "approved")]);
  expect(steps.map(({ decision, note, pin, shots }) => [decision, note, pin, names(shots)])).toEqual([
    ["withdrawn", "", null, ["a", "c"]],
    ["rejected", "too red", pin, ["b"]],
    ["approved", "", null, ["d"]],
  ]);
  expect(pairOf(shot("a"))).toEqual({
    name: "a",
    viewport: "1280x800",
    theme: "",
    pixels_before: "b",
    pixels_after: "a",
  });
});

function inTwoGroups(badge: Review["state"], button: Review["state"], state: Review["state"] = "open") {
  const part = (group: string, index: number, review: Review["state"]) => ({
    ...{ group, regions: [index], gone: [], closeup: null, review },
    by: review === "open" ? [] : ["bob"],
  });
  const parts = [part("badge", 0, badge), part("button", 1, button)];
  const regions: ShotWithVerdict["regions"] = [
    [1, 1, 1, 1],
    [2, 2, 2, 2],
  ];
  return shot("cart", state, { parts, regions, groups: ["badge", "button"], group: "badge" });
}

const statesOf = ([one]: ShotWithVerdict[]) => [
  one?.review.state,
  ...(one?.parts ?? []).map((p) => p.review),
];

test("parts are counted and decided one by one, and the last one settles the shot", () => {
  const cart = inTwoGroups("approved", "open");
  const [badge, button] = toParts(cart);
  if (!badge || !button) throw new Error("two parts");
  expect(countReviews([cart, shot("a")])).toEqual({ open: 2, approved: 1, rejected: 0, total: 3 });
  expect(pairOf(button)).toMatchObject({ name: "cart", regions: [[2, 2, 2, 2]], gone: [] });
  const others = [badge, button, { ...shot("home"), group: "button" }];
  expect(names(openInGroup(others, cart))).toEqual(["cart", "home"]); // the first open part
  expect(openInGroup(others, badge)).toEqual([]);
  expect(nextOpen([badge, button], badge, [badge])).toBe(button);
  expect(nextOpen([cart], cart, [button])).toBeUndefined();

  const decide = (decision: Step["decision"], chosen: ShotWithVerdict, of = cart) =>
    applyStep([of], { decision, shots: [chosen], ...NO_NOTE }, "ann", 1);
  expect(statesOf(decide("approved", button))).toEqual(["approved", "approved", "approved"]);
  expect(statesOf(decide("approved", button, inTwoGroups("open", "open")))).toEqual([
    "open",
    "open",
    "approved",
  ]);
  expect(statesOf(decide("rejected", button))).toEqual(["rejected", "rejected", "rejected"]);
  const done = inTwoGroups("approved", "approved", "approved");
  expect(statesOf(decide("withdrawn", button, done))).toEqual(["open", "approved", "open"]);
});

test("undo takes back a part, and restores the parts that a decision about the shot replaced", () => {
  const cart = inTwoGroups("approved", "open");
  const steps = (shots: ShotWithVerdict[]) =>
    undoSteps(shots).map(({ decision, shots }) => [decision, shots.map(({ part }) => part?.group)]);
  expect(steps(toParts(cart).slice(1))).toEqual([["withdrawn", ["button"]]]);
  expect(steps([cart])).toEqual([
    ["withdrawn", [undefined]],
    ["approved", ["badge"]],
  ]);
});

const button = { id: "g", kind: "same_pixels" as const, shots: 2, names: [], title: "A button" };
const mine = { group: "g" };

test("approved groups fold under their names, and shots that nobody has to review come last", () => {
  const byBob = shot("b", "approved", mine);
  byBob.review = { ...byBob.review, by: "bob" };
  const sections = toSections(
    [shot("q", "quarantined", mine), shot("a", "approved", mine), byBob, shot("c")],
    [button],
  );
  expect(sections.map(({ title }) => title)).toEqual([
    "A button",
    "1 screenshot changed",
    "1 screenshot in quarantine",
  ]);
  expect(sections.map(isDone)).toEqual([true, false, true]);
  expect(sections.map((section) => decidedIn(section)?.words)).toEqual([
    "Approved by ann and bob",
    undefined,
    undefined,
  ]);
});

test.each<[Review["state"][], string | undefined]>([
  [["rejected", "open", "approved"], "1 of 3 rejected by ann"],
  [["rejected", "rejected", "not_needed"], "Rejected by ann"],
  [["approved", "open"], undefined],
  [["approved", "not_needed"], "Approved by ann"],
  [["not_needed"], undefined],
])("a group whose shots are %s says %s", (states, words) => {
  const [section] = toSections(
    states.map((state, at) => shot(String(at), state, mine)),
    [button],
  );
  expect(section && decidedIn(section)?.words).toBe(words);
});

test("a pin is a share of the image, wherever it is drawn", () => {
  const image = { left: -100, top: 50, width: 800, height: 400 };
  expect(pinAt({ clientX: 100, clientY: 150 }, image)).toEqual({ x: 0.25, y: 0.25 });
  expect(pinAt({ clientX: 900, clientY: 0 }, image)).toEqual({ x: 1, y: 0 });
});

test("a quarantine says how often its shot differed in its last week", () => {
  const about = { reason: "", created_by: "ann", created_at: 0, compared: 20, differed: 5 };
  const quarantine = { id: "1", name: "a", viewport: "1x1", theme: "", ...about };
  const end = (days: number) => describeEnd({ ...quarantine, until: days * 86_400 }, 0);
  expect(end(8)).toBe("");
  expect(end(3)).toBe("Ends in 3 days: differed in 5 of 20 comparisons");
});
