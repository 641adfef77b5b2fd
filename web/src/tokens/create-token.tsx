import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { NewToken } from "../lib/types";
import { Button } from "../ui/button";
import { CopyButton } from "../ui/copy-button";
import { Dialog } from "../ui/dialog";
import { Field } from "../ui/field";
import { Mono } from "../ui/mono-and-time";
import { toast } from "../ui/toast";
import { useAction } from "../ui/use-action";

interface CreateTokenProps {
  projectId: string;
  /** The suggested label. */
  label?: string;
  onCreated?: (created: NewToken) => void;
}

/** Asks for a label, creates the token and shows its secret once. */
export function CreateToken({ projectId, label: usual = "", onCreated }: CreateTokenProps) {
  const [label, setLabel] = useState(usual);
  const [created, setCreated] = useState<NewToken | null>(null);
  const action = useAction();
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const token = await send<NewToken>("POST", `/projects/${projectId}/tokens`, { label: label.trim() });
      setCreated(token);
      setLabel("");
      onCreated?.(token);
    });
  };
  return (
    <>
      <form class="inline-form" onSubmit={create}>
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
        <Button type="submit" kind="primary" busy={action.busy}>
          Create token
        </Button>
      </form>
      {created && (
        <SecretDialog
          created={created}
          onClose={() => {
            setCreated(null);
            toast(`Created ${created.token.label || created.token.hint}.`);
          }}
        />
      )}
    </>
  );
}

function SecretDialog({ created, onClose }: { created: NewToken; onClose: () => void }) {
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
        <Mono>{created.secret}</Mono>
        <CopyButton text={created.secret} label="Copy token" />
      </div>
      <p class="quiet small">
        Store it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>, never in the repository.
      </p>
    </Dialog>
  );
}
