/** The filter of the pull request list. The page and the API use the same query. */

export const PULL_STATES = ["", "open", "closed"] as const;

export type PullStateFilter = (typeof PULL_STATES)[number];

export interface PullFilter {
  /** Empty: all states. */
  state: PullStateFilter;
  q: string;
}

export function pullFilterFrom(query: URLSearchParams): PullFilter {
  const state = PULL_STATES.find((known) => known === query.get("state")) ?? "";
  return { state, q: query.get("q")?.trim() ?? "" };
}

export function pullFilterQuery({ state, q }: PullFilter): string {
  const query = new URLSearchParams();
  if (state) query.set("state", state);
  if (q) query.set("q", q);
  return query.size > 0 ? `?${query}` : "";
}
