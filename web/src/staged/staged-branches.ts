/** Staged screenshots, grouped by branch. */
import type { Staged } from "../lib/types";

export interface StagedBranch {
  key: string;
  branch: string;
  /** The owner/name of the repository; empty for the project's own. */
  repository: string;
  staged: Staged[];
}

/** Branches in the order of their newest screenshot. Branches of the same name in two repositories are separate. */
export function groupByBranch(staged: readonly Staged[]): StagedBranch[] {
  const groups = new Map<string, StagedBranch>();
  for (const each of staged) {
    const { branch, repository } = each;
    const key = `${repository} ${branch}`;
    const group = groups.get(key) ?? { key, branch, repository, staged: [] };
    group.staged.push(each);
    groups.set(key, group);
  }
  return [...groups.values()];
}
