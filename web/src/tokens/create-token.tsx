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
import { daysUntil, END_CHOICES } from "./token-end";

interface CreateTokenProps {
  projectId: string;
  /** The suggested label. */
  label?: string;
  onCreated?: (created: NewToken) => void;
}

/** Asks for a label and an end, creates the token and shows its secret once. */
export function CreateToken({ projectId, label: usual = "", onCreated }: CreateTokenProps) {
  const [label, setLabel] = useState(usual);
  const [end, setEnd] = useState("");
  const [day, setDay] = useState("");
  const [created, setCreated] = useState<NewToken | null>(null);
  const action = useAction({ inPlace: true });
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const expires_days = end === "date" ? daysUntil(day, Date.now()) : end === "" ? null : Number(end);
      const body = { label: label.trim(), expires_days };
      const token = await send<NewToken>("POST", `/projects/${projectId}/tokens`, body);
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
        <Field label="Expires" error={action.problem}>
          {(field) => (
            <select {...field} value={end} onChange={(event) => setEnd(event.currentTarget.value)}>
              {END_CHOICES.map(({ value, label: words }) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        {end === "date" && (
          <Field label="Last day">
            {(field) => (
              <input
                {...field}
                type="date"
                required
                value={day}
                onInput={(event) => setDay(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
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
