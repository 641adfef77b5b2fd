/** The periods of the usage pages. */

export const RANGES = [
  { id: "30", label: "30 days" },
  { id: "90", label: "90 days" },
  { id: "365", label: "1 year" },
] as const;

/** The period in a page's URL. */
export const daysFrom = (query: URLSearchParams): (typeof RANGES)[number]["id"] =>
  RANGES.find(({ id }) => id === query.get("days"))?.id ?? "90";
