/** Describes a comparison in words. Pure. */
import { compareCommand, completeCommand, uploadBaselinesCommand } from "../lib/commands";
import { capitalize, formatCount, formatNumber, isSameCommit, shortSha } from "../lib/format";
import type { ComparedShot, Comparison, ComparisonSummary, PullRequest } from "../lib/types";
import { type Counts, countChanges, countShots, describeVerdict, listCounts } from "./verdicts";

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
function describeShift(shift: number): string {
  if (shift === 0) return "rows moved";
  return `moved ${formatNumber(Math.abs(shift))} px ${shift > 0 ? "down" : "up"}`;
}

/** Where the before image comes from. Empty for the usual case, a baseline from the pull request's own history. */
export function describeBase({ is_pair, ancestor }: ComparedShot, branch: string): string {
  if (is_pair) return "Before and after uploaded together";
  return ancestor
    ? ""
    : `Compared with the newest of ${branch}, because no commit that the job listed has it`;
}

export const baseClass = ({ is_pair }: ComparedShot): string => (is_pair ? "" : "not-ancestor");

/** Whether nothing was compared with a baseline: every shot came with its own before image. */
export const arePairs = ({ shots }: Comparison): boolean =>
  shots.length > 0 && shots.every(({ is_pair }) => is_pair);

interface StateDescription {
  title: string;
  text: string;
  /** The command to run next. */
  command?: string;
}

/** What is missing and what to do; null only if everything was compared. */
export function describeState(comparison: Comparison, prNumber: number): StateDescription | null {
  const { commit_sha, state, branch, missing, shots } = comparison;
  switch (state) {
    case "running":
      return {
        title: "Comparing…",
        text: `${formatNumber(countShots(comparison.counts))} of ${formatCount(shots.length, "screenshot")} done. The others appear here automatically.`,
      };
    case "no_baseline":
      return {
        title: "No baseline",
        text: `The branch ${branch} has no baselines, so commit ${shortSha(commit_sha)} was not compared. Run the job on ${branch}, or check it out and run:`,
        command: uploadBaselinesCommand,
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
          text: `The branch ${branch} has no baselines, so ${formatCount(missing, "other screenshot")} of this run ${missing === 1 ? "was" : "were"} not compared. Run the job on ${branch}, or check it out and run:`,
          command: uploadBaselinesCommand,
        };
      return {
        title: "Incomplete",
        text: `This run lacks ${formatCount(missing, "screenshot")} of its base. Wait for the jobs that upload them. If they were removed, mark the run complete:`,
        command: completeCommand(prNumber, commit_sha),
      };
    case "failed":
      return {
        title: "The comparison failed",
        text: "It stopped before every screenshot had a verdict. Run it again:",
        command: compareCommand(prNumber, commit_sha),
      };
    case "compared":
      return null;
  }
}

/** For a comparison that was running when the page opened: keeping a line here keeps the rest in place. */
export const describeDone = ({ counts }: Comparison): StateDescription => ({
  title: "Done.",
  text: `${formatCount(countShots(counts), "screenshot")} compared.`,
});

/** "7 screenshots: 2 changed, 5 unchanged", as in the comment’s heading. */
export function describeCounts(counts: Counts): string {
  const sums = listCounts(counts).map(
    ([verdict, count]) => `${formatNumber(count)} ${describeVerdict(verdict)}`,
  );
  return [formatCount(countShots(counts), "screenshot"), sums.join(", ")].filter(Boolean).join(": ");
}

const WAITING: Record<ComparisonSummary["state"], string> = {
  running: "Comparing…",
  compared: "",
  no_baseline: "No baseline",
  incomplete: "Incomplete",
  failed: "Comparison failed",
};

/** Why the newest commit has no complete comparison. Empty if it has one. */
export function describeWaiting(
  comparison: ComparisonSummary | null,
  { last_commit }: Pick<PullRequest, "last_commit">,
): string {
  if (!comparison) return "Not compared yet";
  const isNewest = isSameCommit(comparison.commit_sha, last_commit);
  return isNewest ? WAITING[comparison.state] : "Newest commit not compared yet";
}

/** Beside the tab's name: "12", "incomplete". */
export function describeTab(comparison: ComparisonSummary | null): string {
  if (!comparison) return "";
  const changes = countChanges(comparison.counts);
  const count = changes > 0 ? formatNumber(changes) : "";
  if (comparison.state === "compared") return count || "0";
  return [count, comparison.state.replace("_", " ")].filter(Boolean).join(", ");
}
