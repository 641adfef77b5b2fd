/** What a comparison found, in words. Pure. */
import { capitalize, formatCount, formatNumber, shortSha } from "../lib/format";
import type { ComparedShot, Comparison } from "../lib/types";
import { isChange, shotsWithVerdict } from "./verdicts";

/** "1,479 pixels in 2 regions, moved 24 px down". Empty if there is nothing to say. */
export function describeChange(shot: ComparedShot, branch: string): string {
  switch (shot.verdict) {
    case "changed": {
      const where = shot.regions.length > 1 ? ` in ${formatCount(shot.regions.length, "region")}` : "";
      const pixels = formatCount(shot.pixels, "pixel") + where;
      return shot.shift === 0 ? pixels : `${pixels}, ${describeShift(shot.shift)}`;
    }
    case "moved":
      return capitalize(describeShift(shot.shift));
    case "failed":
      return capitalize(shot.reason);
    case "new":
      return `Not on ${branch}`;
    case "removed":
      return `Only on ${branch}`;
    case "unchanged":
    case null:
      return "";
  }
}

/** "moved 24 px down" */
export function describeShift(shift: number): string {
  if (shift === 0) return "rows moved";
  return `moved ${formatNumber(Math.abs(shift))} px ${shift > 0 ? "down" : "up"}`;
}

/** What the before is, unless it is a baseline of the pull request's own history. Empty: it is one. */
export function describeBase({ is_pair, ancestor }: ComparedShot, branch: string): string {
  if (is_pair) return "Before and after uploaded together";
  return ancestor ? "" : `Compared with the newest baseline of ${branch}, not an ancestor`;
}

export const baseClass = ({ is_pair }: ComparedShot): string => (is_pair ? "" : "not-ancestor");

/** Whether nothing was compared with a baseline: every before was uploaded with its after. */
export const arePairs = ({ shots }: Comparison): boolean =>
  shots.length > 0 && shots.every(({ is_pair }) => is_pair);

export interface StateDescription {
  title: string;
  text: string;
  /** The command that helps. */
  command?: string;
}

/** What is missing and what to do; null if everything was compared. Never silent about a run that was not. */
export function describeState(comparison: Comparison): StateDescription | null {
  const { commit_sha, state, branch, missing, shots } = comparison;
  switch (state) {
    case "running":
      return {
        title: "Comparing…",
        text: `${formatNumber(shotsWithVerdict(shots).length)} of ${formatCount(shots.length, "shot")} done. The others appear here automatically.`,
      };
    case "no_baseline":
      return {
        title: "No baseline",
        text: `The branch ${branch} has no baselines, so commit ${shortSha(commit_sha)} was not compared. Upload some on the next push to ${branch}:`,
        command: "prshots upload --baseline",
      };
    case "incomplete":
      if (shots.length === 0)
        return {
          title: "Incomplete",
          text: `No screenshots were uploaded for commit ${shortSha(commit_sha)}. Run the job that takes them again.`,
        };
      if (comparison.base_commit === null)
        return {
          title: "Incomplete",
          text: `The branch ${branch} has no baselines, so ${formatCount(missing, "other shot")} of this run ${missing === 1 ? "was" : "were"} not compared. Upload some on the next push to ${branch}:`,
          command: "prshots upload --baseline",
        };
      return {
        title: "Incomplete",
        text: `This run lacks ${formatCount(missing, "shot")} of its base. Wait for the jobs that upload them. If they were removed, say that the run is complete:`,
        command: "prshots compare --complete",
      };
    case "failed":
      return {
        title: "The comparison failed",
        text: "It broke off before every shot had a verdict. Run it again:",
        command: "prshots compare",
      };
    case "compared":
      return null;
  }
}

/** For a comparison that was running when the page opened: the line stays, so that nothing below it moves. */
export const describeDone = ({ shots }: Comparison): StateDescription => ({
  title: "Done.",
  text: `${formatCount(shots.length, "shot")} compared.`,
});

/** Beside the tab's name: "12", "incomplete". */
export function describeTab(comparison: Comparison | null): string {
  if (!comparison) return "";
  const changes = comparison.shots.filter(isChange).length;
  const count = changes > 0 ? formatNumber(changes) : "";
  if (comparison.state === "compared") return count || "0";
  return [count, comparison.state.replace("_", " ")].filter(Boolean).join(", ");
}
