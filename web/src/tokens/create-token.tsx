import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { NewToken } from "../lib/types";
import { Button, Field, Mono, SecretDialog, toast, useAction } from "../ui";
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
          title="Your new token"
          noun="token"
          secret={created.secret}
          onClose={() => {
            setCreated(null);
            toast(`Created ${created.token.label || created.token.hint}.`);
          }}
        >
          Store it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>, never in the repository.
        </SecretDialog>
      )}
    </>
  );
}
