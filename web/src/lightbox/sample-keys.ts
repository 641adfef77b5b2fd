/** Sample key presses for tests. */
import type { KeyPress } from "./keys";

export const key = (name: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key: name,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});
