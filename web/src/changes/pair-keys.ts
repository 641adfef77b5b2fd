/** What a key does in the pair viewer. */

import { type KeyAction, type KeyPress, keyAction, type ReviewKey, reviewKey } from "../lightbox/keys";
import { MODES, type Mode } from "../pull/urls";

type PairKeyAction =
  | Exclude<KeyAction, { do: "details" }>
  | { do: "mode"; mode: Mode }
  | { do: "boxes" | "region" | "list" | "history" | "original" | "notes" }
  | { do: ReviewKey };

const OWN: Record<string, PairKeyAction> = {
  b: { do: "boxes" },
  d: { do: "region" },
  l: { do: "list" },
  h: { do: "history" },
  o: { do: "original" },
  m: { do: "notes" },
};

/** Like the lightbox, plus a digit for each mode and its own letters. Pairs have no other commits and no details. */
export function pairKeyAction(event: KeyPress, pans: { x: boolean; y: boolean }): PairKeyAction | null {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  const mode = MODES[Number(event.key) - 1];
  if (isPlain && mode) return { do: "mode", mode };
  const own = OWN[event.key.toLowerCase()];
  if (isPlain && own) return own;
  const review = reviewKey(event);
  if (review) return { do: review };
  const action = keyAction(event, pans);
  if (!action || action.do === "details") return null;
  const isCommit = action.do === "go" && (action.step === "newer" || action.step === "older");
  return isCommit ? null : action;
}
