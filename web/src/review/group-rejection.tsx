/** Rejecting a whole group with one note. */
import { useRef, useState } from "preact/hooks";
import type { ShotWithVerdict } from "../changes/verdicts";
import { isSameShot } from "../gallery/shot-key";
import { formatCount } from "../lib/format";
import { Dialog } from "../ui";
import { NoteForm } from "./review-bar";
import { NO_NOTE } from "./reviews";
import type { ReviewDesk } from "./use-review-desk";

/**
 * Returns a function that asks for the note, and the open dialog. `onDone` runs once the rejection is recorded. The note
 * stays until then, even if the dialog is closed and opened again for the same group.
 */
export function useGroupRejection(desk: ReviewDesk, onDone: (rejected: ShotWithVerdict[]) => void) {
  const [chosen, setChosen] = useState<ShotWithVerdict[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState(NO_NOTE);
  const [hasFailed, setFailed] = useState(false);
  const isSending = useRef(false);
  // If the images change meanwhile, the service refuses the decision, and the next one is about the new images.
  const shots = desk.shots.filter((shot) => chosen.some((other) => isSameShot(shot, other)));
  const start = (group: ShotWithVerdict[]) => {
    const [first] = group;
    if (!first) return;
    if (!chosen.some((other) => isSameShot(first, other))) setDraft(NO_NOTE);
    setChosen(group);
    setFailed(false);
    setOpen(true);
  };
  const send = async () => {
    if (isSending.current) return;
    isSending.current = true;
    const isRecorded = await desk.decide(shots, "rejected", draft);
    isSending.current = false;
    setFailed(isRecorded === false);
    if (isRecorded === false) return;
    setOpen(false);
    setChosen([]);
    if (isRecorded) onDone(shots);
  };
  const dialog = isOpen && (
    <Dialog
      title={`Reject ${formatCount(shots.length, "screenshot")}`}
      onClose={() => setOpen(false)}
      actions={null}
    >
      <NoteForm
        draft={draft}
        hasPicture={false}
        problem={hasFailed ? desk.problem?.message : undefined}
        change={(next) => (next ? setDraft(next) : setOpen(false))}
        send={() => void send()}
      />
    </Dialog>
  );
  return { start, dialog };
}
