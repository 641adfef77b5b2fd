import { expect, test } from "vitest";
import type { ComparedShot, ComparisonState } from "../lib/types";
import {
  arePairs,
  describeBase,
  describeChange,
  describeCounts,
  describeState,
  describeTab,
  describeWaiting,
} from "./descriptions";
import { comparedShot, comparison } from "./sample-comparisons";

const region: ComparedShot["regions"][number] = [1, 2, 3, 4];

test.each<[Partial<ComparedShot>, string]>([
  [{ pixels: 1479, regions: [region] }, "1,479 pixels"],
  [{ pixels: 1, regions: [region] }, "1 pixel"],
  [{ pixels: 9, regions: [region, region], shift: -24 }, "9 pixels in 2 regions, moved 24 px up"],
  [{ verdict: "moved", shift: 24 }, "Moved 24 px down"],
  [{ verdict: "moved", shift: 0 }, "Rows moved"],
  [{ verdict: "failed", reason: "cannot be decoded" }, "Cannot be decoded"],
  [{ verdict: "new" }, "Not on main"],
  [{ verdict: "removed" }, "Only on main"],
  [{ verdict: "unchanged" }, ""],
])("%o is described as %s", (shot, words) => {
  expect(describeChange(comparedShot(shot), "main")).toBe(words);
});

test("every state but compared says what is missing, and every state but running what to do", () => {
  const words = (state: ComparisonState) =>
    describeState(comparison({ state, missing: 12, shots: [comparedShot()] }), 7);
  expect(words("compared")).toBeNull();
  expect(words("running")?.title).toBe("Comparing…");
  expect(words("no_baseline")?.command).toBe("prshots upload --baseline screenshots/");
  expect(words("incomplete")?.text).toContain("12 screenshots");
  expect(words("incomplete")?.command).toBe("prshots compare --complete --pr 7 --commit after");
  expect(words("failed")?.command).toBe("prshots compare --pr 7 --commit after");
});

test("an uploaded pair is described as one, without a base commit", () => {
  expect(describeBase(comparedShot(), "main")).toBe("");
  expect(describeBase(comparedShot({ ancestor: false }), "main")).toBe(
    "Compared with the newest of main, because no commit that the job listed has it",
  );
  const pair = comparedShot({ is_pair: true, base_commit: null });
  expect(describeBase(pair, "main")).toBe("Before and after uploaded together");
  expect(arePairs(comparison({ shots: [pair] }))).toBe(true);
  expect(arePairs(comparison({ shots: [pair, comparedShot()] }))).toBe(false);
  expect(arePairs(comparison())).toBe(false);
});

test("without baselines, pairs are compared and the others are counted", () => {
  const shots = [comparedShot({ is_pair: true, base_commit: null })];
  const words = (missing: number) =>
    describeState(comparison({ state: "incomplete", base_commit: null, missing, shots }), 7);
  expect(words(12)?.text).toContain("12 other screenshots of this run were not compared");
  expect(words(1)?.text).toContain("1 other screenshot of this run was not compared");
  expect(words(12)?.command).toBe("prshots upload --baseline screenshots/");
});

test("a run without screenshots doesn't count missing shots", () => {
  expect(describeState(comparison({ state: "incomplete" }), 7)?.text).toContain(
    "No screenshots were uploaded",
  );
});

test("a running comparison counts its verdicts", () => {
  const shots = [comparedShot(), comparedShot({ verdict: null })];
  expect(describeState(comparison({ state: "running", shots }), 7)?.text).toContain("1 of 2 screenshots");
});

test("counts are described as in the comment’s heading", () => {
  expect(describeCounts({ changed: 3, moved: 0, removed: 1, failed: 1, unchanged: 1204 })).toBe(
    "1,209 screenshots: 3 changed, 1 removed, 1 could not be compared, 1,204 unchanged",
  );
});

test("a pull request waits until its newest commit is compared", () => {
  const waiting = (state: ComparisonState, last_commit: string) =>
    describeWaiting(comparison({ state, commit_sha: "abcdef0123" }), { last_commit });
  expect(waiting("compared", "ABCDEF0")).toBe("");
  expect(waiting("running", "abcdef0123")).toBe("Comparing…");
  expect(waiting("compared", "fedcba9")).toBe("Newest commit not compared yet");
  expect(describeWaiting(null, { last_commit: "fedcba9" })).toBe("Not compared yet");
});

test("the tab counts changes, and adds the state of a run that is not compared", () => {
  expect(describeTab(null)).toBe("");
  expect(describeTab(comparison())).toBe("0");
  expect(describeTab(comparison({ shots: [comparedShot()] }))).toBe("1");
  expect(describeTab(comparison({ state: "no_baseline" }))).toBe("no baseline");
  expect(describeTab(comparison({ state: "incomplete", shots: [comparedShot()] }))).toBe("1, incomplete");
});
