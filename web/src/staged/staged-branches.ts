/** Staged screenshots by the branch that they wait for. */
import type { Staged } from "../lib/types";

export interface StagedBranch {
  key: string;
  branch: string;
  /** The owner/name that has the branch; empty for the project's own. */
  repository: string;
  staged: Staged[];
}

/** Branches in the order of their newest screenshot; of two repositories, each has its own. */
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
