/** What a key does, on the page and in the lightbox. */

export type Step = "previous" | "next" | "newer" | "older";
export type KeyAction =
  | { do: "go"; step: Step }
  | { do: "pan"; x: number; y: number }
  | { do: "zoom"; how: "toggle" | "in" | "out" }
  | { do: "details" }
  | { do: "help" };

export interface KeyPress {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

const ARROWS: Record<string, { step: Step; x: number; y: number }> = {
  ArrowLeft: { step: "previous", x: -1, y: 0 },
  ArrowRight: { step: "next", x: 1, y: 0 },
  ArrowUp: { step: "newer", x: 0, y: -1 },
  ArrowDown: { step: "older", x: 0, y: 1 },
};

const OTHERS: Record<string, KeyAction> = {
  z: { do: "zoom", how: "toggle" },
  "+": { do: "zoom", how: "in" },
  "=": { do: "zoom", how: "in" },
  "-": { do: "zoom", how: "out" },
  i: { do: "details" },
  j: { do: "go", step: "next" },
  k: { do: "go", step: "previous" },
  n: { do: "go", step: "next" },
  p: { do: "go", step: "previous" },
  "?": { do: "help" },
};

/** In the lightbox, an arrow key pans an image that is larger than the stage, or else goes to another image. */
export function keyAction(event: KeyPress, pans: { x: boolean; y: boolean }): KeyAction | null {
  if (isForBrowser(event)) return null;
  const arrow = ARROWS[event.key];
  if (!arrow) return OTHERS[normalizeKey(event.key)] ?? null;
  const isMore = arrow.x === 0 ? pans.y : pans.x;
  if (isMore && !event.shiftKey) return { do: "pan", x: arrow.x, y: arrow.y };
  return { do: "go", step: arrow.step };
}

type PageKeyAction = "filter" | "next" | "previous" | "help";

const ON_PAGE: Record<string, PageKeyAction> = {
  "/": "filter",
  j: "next",
  k: "previous",
  n: "next",
  p: "previous",
  "?": "help",
};

/** Keys on the page, while no field has the focus. */
export const pageKeyAction = (event: KeyPress): PageKeyAction | null =>
  isForBrowser(event) ? null : (ON_PAGE[normalizeKey(event.key)] ?? null);

export type ReviewKey = "approve" | "reject" | "group" | "rejectGroup" | "undo";

const REVIEW_KEYS: Record<string, ReviewKey> = { a: "approve", r: "reject", g: "group", u: "undo" };

/** Keys that decide, on the page and in the viewer of a change. */
export function reviewKey(event: KeyPress): ReviewKey | null {
  const key = isForBrowser(event) ? null : REVIEW_KEYS[normalizeKey(event.key)];
  return key === "group" && event.shiftKey ? "rejectGroup" : (key ?? null);
}

const isForBrowser = (event: KeyPress): boolean => event.ctrlKey || event.metaKey || event.altKey;

const normalizeKey = (key: string): string => (key.length === 1 ? key.toLowerCase() : key);

/** For the help dialog. */
export const KEYS: readonly { where: string; keys: readonly [keys: string, does: string][] }[] = [
  {
    where: "Everywhere",
    keys: [
      ["J N", "Next screenshot or change"],
      ["K P", "Previous screenshot or change"],
      ["?", "Show this help"],
    ],
  },
  {
    where: "Review changes",
    keys: [
      ["A", "Approve"],
      ["R", "Reject with a note"],
      ["G", "Approve the whole group"],
      ["Shift+G", "Reject the whole group"],
      ["U", "Undo the last decision"],
    ],
  },
  {
    where: "In the gallery",
    keys: [
      ["/", "Filter by name"],
      ["Enter", "Go to the first result, or open the screenshot"],
    ],
  },
  {
    where: "In a viewer",
    keys: [
      ["← →", "Previous and next screenshot or change"],
      ["Z", "Actual size and back"],
      ["+ −", "Zoom in and out"],
      ["Esc", "Close"],
    ],
  },
  {
    where: "Only in the viewer of a screenshot",
    keys: [
      ["↑ ↓", "Newer and older commit"],
      ["I", "Show or hide details"],
    ],
  },
  {
    where: "Only in the viewer of a change",
    keys: [
      ["1 2", "Side by side, slider"],
      ["3 4", "Overlay, marked difference"],
      ["B", "Show or hide boxes around changes"],
      ["D", "Next region"],
      ["L", "Show or hide the list of changes"],
      ["H", "Show or hide the history on the base branch"],
      ["M", "Show or hide the notes"],
      ["O", "Open the original image"],
    ],
  },
];

/** The keys of the page behind a share link: it has no decisions, notes, history and other images. */
export const SHARED_KEYS = KEYS.filter(
  ({ where }) => where !== "Review changes" && where !== "Only in the viewer of a screenshot",
).map(({ where, keys }) => ({ where, keys: keys.filter(([names]) => names !== "H" && names !== "M") }));

const FAR_ENOUGH = 48;

/** The step of a swipe. It must be long enough, and clearly horizontal. */
export function swipeStep(dx: number, dy: number): Step | null {
  if (Math.abs(dx) < FAR_ENOUGH || Math.abs(dx) < 2 * Math.abs(dy)) return null;
  return dx < 0 ? "next" : "previous";
}
