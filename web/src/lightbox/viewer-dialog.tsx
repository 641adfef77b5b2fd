/** Shared by the viewers: the modal dialog, and the pace of held-down keys. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type ShotKey, variantLabel } from "../gallery/shot-key";
import { reviewKey } from "./keys";

const PACE_MS = 120;
const DOUBLE_MS = 150;

interface ViewerDialogProps {
  class: string;
  shotKey: ShotKey;
  onKeyDown: (event: KeyboardEvent) => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** Open while it is rendered. The page decides where the focus goes afterwards. */
export function ViewerDialog({ class: className, shotKey, onKeyDown, onClose, children }: ViewerDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opened = dialog.current;
    opened?.showModal();
    focusStage(opened);
    return () => opened?.close();
  }, []);
  useLayoutEffect(() => {
    // The focused element disappeared with the last image: without this, keys would do nothing.
    if (document.activeElement === document.body) focusStage(dialog.current);
  });
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-label={`${shotKey.name}, ${variantLabel(shotKey)}`}
      onKeyDown={onKeyDown}
      onCancel={(event) => {
        event.preventDefault(); // Escape: the URL controls whether it is open
        onClose();
      }}
    >
      {children}
    </dialog>
  );
}

const focusStage = (dialog: HTMLElement | null) => dialog?.querySelector<HTMLElement>(".stage")?.focus();

/** Limits the pace of a held-down key: images stay visible, and browsers limit history changes. */
export function usePace(): (event: KeyboardEvent, act: () => void) => void {
  const lastWent = useRef(0);
  return (event, act) => {
    if (event.repeat && event.timeStamp - lastWent.current <= PACE_MS) return;
    lastWent.current = event.timeStamp;
    act();
  };
}

let last = { key: "", at: Number.NEGATIVE_INFINITY };

/** Whether a key that decides is held down, or pressed twice at once: it would decide about the next change. */
export function isDoubleDecision(event: KeyboardEvent): boolean {
  const key = reviewKey(event);
  if (!key || key === "reject" || key === "rejectGroup") return false; // they ask first
  const isSecond = key === last.key && event.timeStamp - last.at < DOUBLE_MS;
  last = { key, at: event.timeStamp };
  return event.repeat || isSecond;
}
