import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { NewToken } from "../lib/types";
import { useAct } from "./act";
import { Button } from "./button";
import { CopyButton } from "./copy";
import { Dialog } from "./dialog";
import { Field } from "./field";
import { Mono } from "./text";
import { toast } from "./toast";

interface IssueTokenProps {
  projectId: string;
  /** What it will most likely be called. */
  label?: string;
  onIssued?: (issued: NewToken) => void;
}

/** A label, a button, and then the secret: this once. */
export function IssueToken({ projectId, label: usual = "", onIssued }: IssueTokenProps) {
  const [label, setLabel] = useState(usual);
  const [issued, setIssued] = useState<NewToken | null>(null);
  const act = useAct();
  const issue = (event: Event) => {
    event.preventDefault();
    void act.run(async () => {
      const answer = await send<NewToken>("POST", `/projects/${projectId}/tokens`, { label: label.trim() });
      setIssued(answer);
      setLabel("");
      onIssued?.(answer);
    });
  };
  return (
    <>
      <form class="inline-form" onSubmit={issue}>
        <Field label="Label">
          {(field) => (
            <input
              {...field}
              value={label}
              maxLength={100}
              autocomplete="off"
              placeholder="GitHub Actions"
              onInput={(event) => setLabel(event.currentTarget.value)}
            />
          )}
        </Field>
        <Button type="submit" kind="primary" busy={act.busy}>
          Issue token
        </Button>
      </form>
      {issued && (
        <Secret
          issued={issued}
          onClose={() => {
            setIssued(null);
            toast(`${issued.token.label || issued.token.hint} can be used from now on.`);
          }}
        />
      )}
    </>
  );
}

function Secret({ issued, onClose }: { issued: NewToken; onClose: () => void }) {
  return (
    <Dialog
      title="Your new token"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <p class="warning">Copy it now: only a hash of it is kept, so it cannot be shown again.</p>
      <div class="secret">
        <Mono>{issued.secret}</Mono>
        <CopyButton text={issued.secret} label="Copy token" />
      </div>
      <p class="quiet small">
        Keep it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>, never in the repository.
      </p>
    </Dialog>
  );
}
