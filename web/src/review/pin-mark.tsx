/** Pins on the after image. Each shows its note on hover, on focus and after a tap. */
import { useState } from "preact/hooks";
import type { Review } from "../lib/types";
import { pinStyle } from "./pins";

export type Mark = Pick<Review, "pin" | "note" | "by">;

export function PinMark({ mark: { pin, note, by } }: { mark: Mark }) {
  const [isOpen, setOpen] = useState(false);
  if (!pin) return null;
  const words = by ? `${by}: ${note}` : note || "The pin for your note";
  return (
    <button
      type="button"
      class="pin"
      style={pinStyle(pin)}
      aria-label={words}
      aria-expanded={isOpen}
      data-left={pin.x > 0.5}
      data-up={pin.y > 0.5}
      onClick={() => setOpen(!isOpen)}
      onBlur={() => setOpen(false)}
    >
      <span class="pin-note" aria-hidden="true">
        {words}
      </span>
    </button>
  );
}
