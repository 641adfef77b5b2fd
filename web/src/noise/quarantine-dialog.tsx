/** Asks why a shot goes into quarantine, and for how long. */
import { useId, useState } from "preact/hooks";
import { type ShotKey, shotKeyOf, variantLabel } from "../gallery/shot-key";
import { send } from "../lib/api";
import { Button, Dialog, Field, toast, useAction } from "../ui";

interface QuarantineDialogProps {
  projectId: string;
  shot: ShotKey;
  onClose: () => void;
  onDone: () => unknown;
}

export function QuarantineDialog({ projectId, shot, onClose, onDone }: QuarantineDialogProps) {
  const [reason, setReason] = useState("");
  const [days, setDays] = useState("14");
  const action = useAction({ inPlace: true });
  const formId = useId();
  const submit = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const body = { ...shotKeyOf(shot), reason: reason.trim(), days: Number(days) };
      await send("POST", `/projects/${projectId}/quarantines`, body);
      toast(`${shot.name} is in quarantine.`);
      onDone();
      onClose();
    });
  };
  return (
    <Dialog
      title={`Quarantine ${shot.name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <button class="button primary" type="submit" form={formId} aria-busy={action.busy}>
            <span>Quarantine screenshot</span>
          </button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} onKeyDown={(event) => event.stopPropagation()}>
        <p>
          {variantLabel(shot)}. prshots still compares and shows it, but it needs no decision and never blocks
          a pull request.
        </p>
        <Field label="Reason" error={action.problem}>
          {(field) => (
            <input
              {...field}
              value={reason}
              required
              maxLength={500}
              autocomplete="off"
              onInput={({ currentTarget }) => setReason(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Days" hint="30 at most. After that, it needs decisions again.">
          {(field) => (
            <input
              {...field}
              class="days"
              type="number"
              min={1}
              max={30}
              required
              value={days}
              onInput={({ currentTarget }) => setDays(currentTarget.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}
