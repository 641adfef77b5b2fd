import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Signal, useSignal } from "../lib/signal";
import { Button } from "./button";
import { Field } from "./field";

interface DialogProps {
  title: string;
  onClose: () => void;
  /** Buttons; the confirming one comes last. */
  actions: ComponentChildren;
  children: ComponentChildren;
}

/** Open while it is rendered. It traps the focus and returns it when it closes. */
export function Dialog({ title, onClose, actions, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class="dialog"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault(); // Escape: the parent decides whether to close it
        onClose();
      }}
    >
      <h2 id={titleId}>{title}</h2>
      <div class="dialog-body">{children}</div>
      <div class="dialog-actions">{actions}</div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  /** What will happen, and whether it can be undone. */
  children: ComponentChildren;
  /** The button's text, as a verb: "Delete 12 images", not "OK". */
  action: string;
  /** Text to type first, for actions that cannot be undone. */
  typed?: { label: string; text: string };
  busy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

export function Confirm({ title, children, action, typed, busy = false, onConfirm, onClose }: ConfirmProps) {
  const [text, setText] = useState("");
  const ready = typed === undefined || text.trim() === typed.text;
  const formId = useId();
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready && !busy) onConfirm();
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <button class="button danger" type="submit" form={formId} disabled={!ready} aria-busy={busy}>
            <span>{action}</span>
          </button>
        </>
      }
    >
      <form id={formId} onSubmit={submit}>
        {children}
        {typed && (
          <Field label={typed.label}>
            {(field) => (
              <input
                {...field}
                value={text}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
      </form>
    </Dialog>
  );
}

type Question = Pick<ConfirmProps, "title" | "action"> & { body: ComponentChildren };

const pendingQuestion = new Signal<(Question & { answer: (yes: boolean) => void }) | null>(null);

/** Ask before deleting something: `if (await confirmDialog({ … })) …` */
export function confirmDialog(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (yes: boolean) => {
      pendingQuestion.value = null;
      resolve(yes);
    };
    pendingQuestion.value = { ...question, answer };
  });
}

/** Renders the question of confirmDialog. Used once, in the app's shell. */
export function ConfirmHost() {
  const question = useSignal(pendingQuestion);
  if (question === null) return null;
  return (
    <Confirm
      title={question.title}
      action={question.action}
      onConfirm={() => question.answer(true)}
      onClose={() => question.answer(false)}
    >
      {question.body}
    </Confirm>
  );
}
