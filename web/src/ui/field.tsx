import type { ComponentChild, ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: ComponentChildren;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** Draws the control with the attributes that tie it to its label, hint and error. */
  children: (attributes: FieldAttributes) => ComponentChild;
}

interface FieldAttributes {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const attributes: FieldAttributes = { id };
  if (hint || error) attributes["aria-describedby"] = `${id}-about`;
  if (error) attributes["aria-invalid"] = true;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(attributes)}
      <p id={`${id}-about`} class={error ? "field-error" : "hint"} aria-live="polite">
        {error || hint}
      </p>
    </div>
  );
}

interface NameFieldProps extends Omit<FieldProps, "children"> {
  value: string;
  placeholder?: string;
  onInput: (name: string) => void;
}

/** The name of a project or organization: the service takes up to 100 characters. */
export function NameField({ value, placeholder = "", onInput, ...field }: NameFieldProps) {
  return (
    <Field {...field}>
      {(attributes) => (
        <input
          {...attributes}
          value={value}
          required
          maxLength={100}
          autocomplete="off"
          placeholder={placeholder}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
