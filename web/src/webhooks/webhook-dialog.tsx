import { useId, useState } from "preact/hooks";
import { send } from "../lib/api";
import { useEveryPage, usePages } from "../lib/live";
import type { Format, NewWebhook, Project, Webhook, Event as WebhookEvent } from "../lib/types";
import { Button, Dialog, Field, toast, useAction } from "../ui";

export const FORMATS: Record<Format, string> = {
  standard: "Standard Webhooks",
  slack: "Slack",
  teams: "Microsoft Teams",
};

/** The events to choose from. */
const EVENTS: Record<Exclude<WebhookEvent, "test">, string> = {
  compared: "A comparison finished",
  decided: "A decision was made or withdrawn",
  gate: "The gate changed",
  expired: "Images were deleted",
  quota: "Storage reached 80 % of the quota",
};
const MOST_PROJECTS = 500;

interface WebhookDialogProps {
  page: string;
  organizationId: string;
  /** The webhook to change, or null for a new one. */
  webhook: Webhook | null;
  onSecret: (secret: string) => void;
  onSaved: () => Promise<void>;
  onClose: () => void;
}

const projectId = ({ id }: Project) => id;

export function WebhookDialog(props: WebhookDialogProps) {
  const { page, organizationId, webhook, onSecret, onSaved, onClose } = props;
  const projects = usePages("/projects", "projects", projectId);
  useEveryPage(projects, MOST_PROJECTS);
  const [form, setForm] = useState({
    url: webhook?.url ?? "",
    format: webhook?.format ?? ("standard" as Format),
    events: webhook?.events ?? (["compared", "decided", "gate"] as readonly WebhookEvent[]),
  });
  const [place, setPlace] = useState("");
  const action = useAction({ inPlace: true });
  const formId = useId();
  const toggle = (event: WebhookEvent) => {
    const others = form.events.filter((each) => each !== event);
    setForm({ ...form, events: others.length < form.events.length ? others : [...others, event] });
  };
  const save = (submitted: Event) => {
    submitted.preventDefault();
    void action.run(async () => {
      if (webhook) {
        await send("PUT", `${page}/${webhook.id}`, form);
        toast("Saved the webhook.");
      } else {
        onSecret((await send<NewWebhook>("POST", page, { ...form, project_id: place || null })).secret);
      }
      onClose();
      await onSaved();
    });
  };
  return (
    <Dialog
      title={webhook ? "Edit webhook" : "Add webhook"}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <button class="button primary" type="submit" form={formId} aria-busy={action.busy}>
            <span>{webhook ? "Save webhook" : "Add webhook"}</span>
          </button>
        </>
      }
    >
      <form id={formId} class="stack" onSubmit={save}>
        <Field label="Address" error={action.problem}>
          {(field) => (
            <input
              {...field}
              type="url"
              required
              maxLength={2000}
              autocomplete="off"
              spellcheck={false}
              placeholder="https://example.org/hook"
              value={form.url}
              onInput={({ currentTarget }) => setForm({ ...form, url: currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Format">
          {(field) => (
            <select
              {...field}
              value={form.format}
              onChange={({ currentTarget }) => setForm({ ...form, format: currentTarget.value as Format })}
            >
              {Object.entries(FORMATS).map(([id, label]) => (
                <option key={id} value={id}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {!webhook && (
          <Field label="Project">
            {(field) => (
              <select
                {...field}
                value={place}
                onChange={({ currentTarget }) => setPlace(currentTarget.value)}
              >
                <option value="">All projects</option>
                {projects.items
                  .filter(({ organization }) => organization.id === organizationId)
                  .map(({ id, name }) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
              </select>
            )}
          </Field>
        )}
        <fieldset class="webhook-events">
          <legend>Events</legend>
          {(Object.entries(EVENTS) as [WebhookEvent, string][]).map(([event, label]) => (
            <label key={event} class="check">
              <input type="checkbox" checked={form.events.includes(event)} onChange={() => toggle(event)} />
              {label}
            </label>
          ))}
        </fieldset>
      </form>
    </Dialog>
  );
}
