/** What a key does in the viewer of pairs. */

import { type Action, actionOf, type Key } from "../lightbox/keys";
import { MODES, type Mode } from "../pull/urls";

export type PairAction = Exclude<Action, { do: "details" }> | { do: "mode"; mode: Mode } | { do: "boxes" };

/** Like the lightbox, and a digit for each mode. Other commits and details are not for pairs. */
export function pairActionOf(event: Key, pans: { x: boolean; y: boolean }): PairAction | null {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  const mode = MODES[Number(event.key) - 1];
  if (isPlain && mode) return { do: "mode", mode };
  if (isPlain && event.key.toLowerCase() === "b") return { do: "boxes" };
  const action = actionOf(event, pans);
  if (!action || action.do === "details") return null;
  const isCommit = action.do === "go" && (action.step === "newer" || action.step === "older");
  return isCommit ? null : action;
}
