/** What a key does in the lightbox. */

export type Step = "previous" | "next" | "newer" | "older";
export type Action =
  | { do: "go"; step: Step }
  | { do: "pan"; x: number; y: number }
  | { do: "zoom"; how: "toggle" | "in" | "out" }
  | { do: "details" };

interface Key {
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

const OTHERS: Record<string, Action> = {
  z: { do: "zoom", how: "toggle" },
  "+": { do: "zoom", how: "in" },
  "=": { do: "zoom", how: "in" },
  "-": { do: "zoom", how: "out" },
  i: { do: "details" },
};

/** An arrow moves over a picture that is zoomed in, and otherwise, or with Shift, on to another. */
export function actionOf(event: Key, zoomedIn: boolean): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const arrow = ARROWS[event.key];
  if (!arrow) return OTHERS[event.key.length === 1 ? event.key.toLowerCase() : event.key] ?? null;
  if (zoomedIn && !event.shiftKey) return { do: "pan", x: arrow.x, y: arrow.y };
  return { do: "go", step: arrow.step };
}

const FAR_ENOUGH = 48;

/** Which way a finger went: sideways, far enough, and more sideways than up or down. */
export function swiped(dx: number, dy: number): Step | null {
  if (Math.abs(dx) < FAR_ENOUGH || Math.abs(dx) < 2 * Math.abs(dy)) return null;
  return dx < 0 ? "next" : "previous";
}
