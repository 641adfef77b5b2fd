/** The webhooks of an organization and of its projects. Only owners see them. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { dateTime } from "../lib/format";
import { useLive } from "../lib/live";
import { navigate, useLocation } from "../lib/router";
import type { NewWebhook, Organization, Webhook, WebhookList } from "../lib/types";
import {
  Button,
  confirmDialog,
  Empty,
  Failed,
  Loading,
  Mono,
  OrganizationHead,
  SecretDialog,
  Time,
  toast,
  useAction,
} from "../ui";
import { Deliveries } from "./deliveries";
import { FORMATS, WebhookDialog } from "./webhook-dialog";

export function WebhooksPage({ organization }: { organization: Organization }) {
  const page = `/organizations/${organization.id}/webhooks`;
  const { data, error, loading, refresh } = useLive<WebhookList>(page);
  const shown = useLocation().query.get("webhook");
  const [edited, setEdited] = useState<Webhook | "new" | null>(null);
  const [secret, setSecret] = useState("");
  return (
    <>
      <OrganizationHead organization={organization} current="webhooks" />
      <div class="kinds webhook-head">
        <p class="lead">
          Webhooks send events, such as a decision, to your own server, to Slack or to Microsoft Teams.
        </p>
        <Button kind="primary" onClick={() => setEdited("new")}>
          Add webhook
        </Button>
      </div>
      {loading && <Loading rows={4} />}
      {error && !data && <Failed error={error} retry={refresh} />}
      {data?.webhooks.length === 0 && (
        <Empty title="No webhooks yet">
          <p>Add one, and send a test message to see whether it arrives.</p>
        </Empty>
      )}
      <ul class="rows">
        {data?.webhooks.map((webhook) => (
          <WebhookRow
            key={webhook.id}
            page={page}
            webhook={webhook}
            isOpen={webhook.id === shown}
            onEdit={() => setEdited(webhook)}
            onSecret={setSecret}
            onChanged={refresh}
          />
        ))}
      </ul>
      {edited && (
        <WebhookDialog
          page={page}
          organizationId={organization.id}
          webhook={edited === "new" ? null : edited}
          onSecret={setSecret}
          onSaved={refresh}
          onClose={() => setEdited(null)}
        />
      )}
      {secret && (
        <SecretDialog
          title="The webhook’s secret"
          noun="secret"
          secret={secret}
          onClose={() => setSecret("")}
        >
          Your server uses it to verify that messages come from this service.
        </SecretDialog>
      )}
    </>
  );
}

interface WebhookRowProps {
  page: string;
  webhook: Webhook;
  /** Its deliveries are shown. */
  isOpen: boolean;
  onEdit: () => void;
  onSecret: (secret: string) => void;
  onChanged: () => Promise<void>;
}

function WebhookRow({ page, webhook, isOpen, onEdit, onSecret, onChanged }: WebhookRowProps) {
  const action = useAction();
  const path = `${page}/${webhook.id}`;
  const test = () =>
    action.run(async () => {
      await send("POST", `${path}/test`);
      toast("Sending a test message.");
      navigate(`${page}?webhook=${webhook.id}`, { replace: true });
    });
  const rotate = async () => {
    const sure = await confirmDialog({
      title: "Rotate the secret?",
      body: <p>For 24 hours, messages are signed with the new secret and with the current one.</p>,
      action: "Rotate secret",
    });
    if (!sure) return;
    await action.run(async () => {
      onSecret((await send<NewWebhook>("POST", `${path}/secret`)).secret);
      await onChanged();
    });
  };
  const remove = async () => {
    const sure = await confirmDialog({
      title: "Delete the webhook?",
      body: <p>Its messages are deleted, including those that wait to be sent. You can’t undo this.</p>,
      action: "Delete webhook",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", path);
      toast("Deleted the webhook.");
      await onChanged();
    });
  };
  return (
    <li class="row">
      <h2 class="row-title">
        <Mono>{webhook.url}</Mono>
      </h2>
      <p class="row-about">
        <State webhook={webhook} />
        <span>
          {FORMATS[webhook.format]} · {webhook.events.join(", ")} · {webhook.project || "all projects"}
        </span>
        <span>
          Created <Time at={webhook.created_at} /> by {webhook.created_by}
        </span>
      </p>
      <p class="actions">
        <Button
          aria-expanded={isOpen}
          onClick={() => navigate(isOpen ? page : `${page}?webhook=${webhook.id}`, { replace: true })}
        >
          {isOpen ? "Hide deliveries" : "Deliveries"}
        </Button>
        <Button busy={action.busy} onClick={() => void test()}>
          Send test
        </Button>
        <Button onClick={onEdit}>Edit</Button>
        <Button onClick={() => void rotate()}>Rotate secret</Button>
        <Button kind="danger" onClick={() => void remove()}>
          Delete
        </Button>
      </p>
      {isOpen && <Deliveries path={path} />}
    </li>
  );
}

function State({ webhook: { disabled_at, failing_since, sent_at } }: { webhook: Webhook }) {
  if (disabled_at !== null) {
    return (
      <span class="problem">
        Disabled <Time at={disabled_at} />: the receiver answered 410. To enable it, edit and save it.
      </span>
    );
  }
  if (failing_since !== null) {
    return <span class="problem">Failing since {dateTime(failing_since)}</span>;
  }
  if (sent_at === null) return <span>Never sent</span>;
  return (
    <span>
      Working, last sent <Time at={sent_at} />
    </span>
  );
}
