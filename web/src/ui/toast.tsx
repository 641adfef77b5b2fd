import { useEffect, useRef } from "preact/hooks";
import { Signal, useSignal } from "../lib/signal";
import { CheckIcon, CloseIcon } from "./icons";

type ToastKind = "done" | "failed";

interface Toast {
  id: number;
  message: string;
  kind: ToastKind;
  action: ToastAction | undefined;
}

interface ToastAction {
  label: string;
  run: () => void;
}

const toasts = new Signal<readonly Toast[]>([]);
let lastId = 0;

/** Show a message. It stays long enough to be read, longer for a failure. */
export function toast(message: string, kind: ToastKind = "done", action?: ToastAction): void {
  const id = ++lastId;
  const isReplaced = (shown: Toast) => shown.message === message || (action && shown.action);
  const others = toasts.value.filter((shown) => !isReplaced(shown));
  toasts.value = [...others, { id, message, kind, action }].slice(-3);
  setTimeout(() => dismiss(id), (kind === "failed" ? 8_000 : 5_000) + message.length * 40);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((shown) => shown.id !== id);
}

export function Toasts() {
  const shown = useSignal(toasts);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The last opened popover is on top of everything, including open dialogs.
    ref.current?.hidePopover?.();
    if (shown.length > 0) ref.current?.showPopover?.();
  }, [shown]);
  return (
    <div ref={ref} class="toasts" popover="manual" role="status" aria-live="polite">
      {shown.map(({ id, message, kind, action }) => (
        <div key={id} class={`toast ${kind}`}>
          {kind === "done" && <CheckIcon />}
          <span>{message}</span>
          {action && (
            <button
              type="button"
              class="link-button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <CloseIcon />
          </button>
        </div>
      ))}
    </div>
  );
}
