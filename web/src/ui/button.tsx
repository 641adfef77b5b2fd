import type { ComponentChildren } from "preact";
import { useAction } from "./use-action";

interface ButtonProps {
  kind?: "primary" | "plain" | "danger";
  type?: "button" | "submit";
  /** In progress: the button keeps its size and ignores clicks. */
  busy?: boolean;
  disabled?: boolean;
  onClick?: (event: MouseEvent) => void;
  class?: string;
  title?: string;
  "aria-label"?: string;
  "aria-expanded"?: boolean;
  "aria-describedby"?: string | undefined;
  children: ComponentChildren;
}

export function Button({
  kind = "plain",
  type = "button",
  busy = false,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={`button ${kind} ${rest.class ?? ""}`}
      aria-busy={busy}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      <span>{children}</span>
    </button>
  );
}

/** At the end of a list that has more pages. */
export function MoreButton({ more, noun = "more" }: { more: (() => Promise<void>) | null; noun?: string }) {
  const action = useAction();
  if (more === null) return null;
  return (
    <p class="more">
      <Button busy={action.busy} onClick={() => action.run(more)}>
        {noun === "more" ? "Show more" : `Show more ${noun}`}
      </Button>
    </p>
  );
}
