import type { ComponentChildren } from "preact";
import { Button } from "./button";
import { CopyButton } from "./copy-button";
import { Dialog } from "./dialog";
import { Mono } from "./mono-and-time";

interface SecretProps {
  /** What it is: "token". */
  noun: string;
  secret: string;
}

/** A secret that is shown once. */
export function Secret({ noun, secret }: SecretProps) {
  return (
    <>
      <p class="warning">Copy the {noun} now. It cannot be shown again.</p>
      <div class="secret">
        <Mono>{secret}</Mono>
        <CopyButton text={secret} label={`Copy ${noun}`} />
      </div>
    </>
  );
}

interface SecretDialogProps extends SecretProps {
  title: string;
  /** What to do with it. */
  children: ComponentChildren;
  onClose: () => void;
}

export function SecretDialog({ title, children, onClose, ...secret }: SecretDialogProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          I’ve copied it
        </Button>
      }
    >
      <Secret {...secret} />
      <p class="quiet small">{children}</p>
    </Dialog>
  );
}
