import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { NewToken } from "../lib/types";
import { Button } from "../ui/button";
import { CopyButton } from "../ui/copy-button";
import { Dialog } from "../ui/dialog";
import { Field } from "../ui/field";
import { Mono } from "../ui/mono-and-time";
import { toast } from "../ui/toast";
import { useAct } from "../ui/use-action";

interface IssueTokenProps {
  projectId: string;
  /** The suggested label. */
  label?: string;
  onIssued?: (issued: NewToken) => void;
}

/** Asks for a label, creates the token and shows its secret once. */
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
          Create token
        </Button>
      </form>
      {issued && (
        <Secret
          issued={issued}
          onClose={() => {
            setIssued(null);
            toast(`Created ${issued.token.label || issued.token.hint}.`);
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
          I’ve stored it
        </Button>
      }
    >
      <p class="warning">
        Copy the token now. It cannot be shown again, because the service stores only its hash.
      </p>
      <div class="secret">
        <Mono>{issued.secret}</Mono>
        <CopyButton text={issued.secret} label="Copy token" />
      </div>
      <p class="quiet small">
        Store it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>, never in the repository.
      </p>
    </Dialog>
  );
}
