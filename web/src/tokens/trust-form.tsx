import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import type { Trust } from "../lib/types";
import { Button, CloseIcon, Field, toast, useAction } from "../ui";
import {
  type Claim,
  claimsOf,
  describeTrust,
  emptyDraft,
  ISSUER_TEXTS,
  issuerKind,
  issuerName,
  NO_CLAIM,
  type TrustDraft,
  validateClaims,
} from "./trust-claims";

interface TrustFormProps {
  path: string;
  issuers: string[];
  draft: TrustDraft;
  onChange: (draft: TrustDraft) => void;
  onAdded: () => Promise<void>;
}

export function TrustForm({ path, issuers, draft, onChange, onAdded }: TrustFormProps) {
  const [wrong, setWrong] = useState<string>();
  const action = useAction({ inPlace: true });
  const add = (event: Event) => {
    event.preventDefault();
    const problem = validateClaims(draft);
    setWrong(problem);
    if (problem) return;
    void action.run(async () => {
      const made = await send<Trust>("POST", path, { issuer: draft.issuer, claims: claimsOf(draft) });
      onChange(emptyDraft(draft.issuer));
      toast(`CI jobs of ${describeTrust(made).title} can now upload.`);
      await onAdded();
    });
  };
  const set = (change: Partial<TrustDraft>) => onChange({ ...draft, ...change });
  return (
    <form class="stack" onSubmit={add}>
      <Field label="CI system">
        {(field) => (
          <select
            {...field}
            value={draft.issuer}
            onChange={(event) => set({ issuer: event.currentTarget.value })}
          >
            {issuers.map((issuer) => (
              <option key={issuer} value={issuer}>
                {issuerName(issuer)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <ClaimFields draft={draft} set={set} />
      <p class="field-error" role="alert">
        {wrong ?? action.problem}
      </p>
      <p>
        <Button type="submit" kind="primary" busy={action.busy}>
          Allow these jobs
        </Button>
      </p>
    </form>
  );
}

interface ClaimFieldsProps {
  draft: TrustDraft;
  set: (change: Partial<TrustDraft>) => void;
}

/** Named fields for a known issuer, plain claims for any other. */
function ClaimFields({ draft, set }: ClaimFieldsProps) {
  const kind = issuerKind(draft.issuer);
  if (kind === "other") {
    return <Claims claims={draft.others} onChange={(others) => set({ others })} required />;
  }
  const words = ISSUER_TEXTS[kind];
  return (
    <>
      <Value
        label={words.label}
        hint={words.aboutRepository}
        placeholder={words.example}
        value={draft.repository}
        required
        onInput={(repository) => set({ repository })}
      />
      <Value label="Ref (optional)" hint={words.aboutRef} value={draft.ref} onInput={(ref) => set({ ref })} />
      <Value
        label="Environment (optional)"
        hint="Allows only jobs in this environment."
        value={draft.environment}
        onInput={(environment) => set({ environment })}
      />
      <details class="disclosure">
        <summary>Other claims</summary>
        <Claims claims={draft.others} onChange={(others) => set({ others })} />
      </details>
    </>
  );
}

interface ValueProps {
  label: string;
  hint: ComponentChildren;
  value: string;
  placeholder?: string;
  required?: boolean;
  onInput: (value: string) => void;
}

function Value({ label, hint, onInput, ...input }: ValueProps) {
  return (
    <Field label={label} hint={hint}>
      {(field) => (
        <input {...AS_TYPED} {...field} {...input} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

/** Identifiers: no autocomplete and no autocorrect. */
const AS_TYPED = { autocomplete: "off", autocapitalize: "none", spellcheck: false, maxLength: 400 } as const;

interface ClaimsProps {
  claims: readonly Claim[];
  required?: boolean;
  onChange: (claims: Claim[]) => void;
}

/** Claims as rows of name and value. */
function Claims({ claims, required = false, onChange }: ClaimsProps) {
  const change = (place: number, part: Partial<Claim>) =>
    onChange(claims.map((claim, index) => (index === place ? { ...claim, ...part } : claim)));
  return (
    <fieldset class="claims">
      <legend class={required ? "" : "hidden"}>Claims</legend>
      <p class="hint">
        Names and values that the job’s ID token must contain.{" "}
        {required && "At least one must identify the repository."}
      </p>
      {claims.map((claim, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is identified by its position
        <div class="claim" key={place}>
          {(["name", "value"] as const).map((part) => (
            <input
              {...AS_TYPED}
              key={part}
              aria-label={`${part === "name" ? "Name" : "Value"} of claim ${place + 1}`}
              placeholder={part}
              value={claim[part]}
              required={required && place === 0}
              onInput={(event) => change(place, { [part]: event.currentTarget.value })}
            />
          ))}
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove claim ${place + 1}`}
            onClick={() => onChange(claims.filter((_, index) => index !== place))}
          >
            <CloseIcon />
          </button>
        </div>
      ))}
      <button type="button" class="link-button" onClick={() => onChange([...claims, NO_CLAIM])}>
        Add claim
      </button>
    </fieldset>
  );
}
