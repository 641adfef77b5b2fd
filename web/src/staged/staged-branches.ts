/** Staged screenshots by the branch that they wait for. */
import type { Staged } from "../lib/types";

export interface StagedPlace {
  key: string;
  branch: string;
  /** The owner/name that has the branch; empty for the project's own. */
  repository: string;
  staged: Staged[];
}

/** Branches in the order of their newest screenshot; of two repositories, each has its own. */
export function byPlace(staged: readonly Staged[]): StagedPlace[] {
  const places = new Map<string, StagedPlace>();
  for (const each of staged) {
    const { branch, repository } = each;
    const key = `${repository} ${branch}`;
    const place = places.get(key) ?? { key, branch, repository, staged: [] };
    place.staged.push(each);
    places.set(key, place);
  }
  return [...places.values()];
}
