/** The filter of the pull request list, as in the URL of the page and the API. */

export const STATES = ["", "open", "closed"] as const;

export type State = (typeof STATES)[number];

export interface Filter {
  /** Empty: all states. */
  state: State;
  q: string;
}

export function filterOf(query: URLSearchParams): Filter {
  const state = STATES.find((known) => known === query.get("state")) ?? "";
  return { state, q: query.get("q")?.trim() ?? "" };
}

export function asQuery({ state, q }: Filter): string {
  const query = new URLSearchParams();
  if (state) query.set("state", state);
  if (q) query.set("q", q);
  return query.size > 0 ? `?${query}` : "";
}
