/** The messages of a webhook, with the receiver's replies. */
import { useState } from "preact/hooks";
import { send, toSentence } from "../lib/api";
import { describeRetry, formatCount } from "../lib/format";
import { useLive, usePages } from "../lib/live";
import { Link } from "../lib/router";
import type { WebhookDelivery, WebhookPayload } from "../lib/types";
import { Button, Empty, Failed, Loading, MoreButton, Time, toast, useAction } from "../ui";

const deliveryId = ({ id }: WebhookDelivery) => id;

export function Deliveries({ path }: { path: string }) {
  const list = usePages(`${path}/deliveries`, "deliveries", deliveryId);
  return (
    <div class="webhook-deliveries">
      {list.loading && <Loading rows={3} />}
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {list.loaded && list.items.length === 0 && (
        <Empty title="No messages yet">
          <p>Messages stay here for 30 days.</p>
        </Empty>
      )}
      <ul class="rows">
        {list.items.map((delivery) => (
          <DeliveryRow key={delivery.id} path={path} delivery={delivery} onSent={list.refresh} />
        ))}
      </ul>
      <MoreButton more={list.more} noun="messages" />
    </div>
  );
}

interface DeliveryRowProps {
  path: string;
  delivery: WebhookDelivery;
  onSent: () => Promise<void>;
}

function DeliveryRow({ path, delivery, onSent }: DeliveryRowProps) {
  const { id, event, project_id, pr_number, created_at, attempts, sent_at, status, error, reply } = delivery;
  const [isOpen, setOpen] = useState(false);
  const action = useAction();
  const again = () =>
    action.run(async () => {
      await send("POST", `${path}/deliveries/${id}`);
      toast("Sending the message again.");
      await onSent();
    });
  return (
    <li class="row spread">
      <div>
        <p>
          <strong>{event}</strong>
          {project_id && pr_number && (
            <>
              {" "}
              <Link href={`/projects/${project_id}/prs/${pr_number}`}>#{pr_number}</Link>
            </>
          )}{" "}
          <span class="quiet small">
            <Time at={created_at} />
          </span>
        </p>
        <p class="row-about">
          {error && <span class="problem">{toSentence(error)}</span>}
          <span>
            {!error && sent_at !== null && `Arrived: the receiver answered ${status}. `}
            {attempts === 0 ? "Not sent yet." : `${formatCount(attempts, "attempt")}.`}{" "}
            {delivery.next_at !== null && describeRetry(delivery.next_at)}
            {delivery.next_at === null && error && "prshots gave up. You can send it again."}
          </span>
        </p>
      </div>
      <p class="actions">
        <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide message" : "Show message"}
        </Button>
        <Button busy={action.busy} onClick={() => void again()}>
          Send again
        </Button>
      </p>
      {isOpen && <Message path={`${path}/deliveries/${id}`} reply={reply} />}
    </li>
  );
}

function Message({ path, reply }: { path: string; reply: string }) {
  const { data, error, refresh } = useLive<WebhookPayload>(path);
  if (!data) return error ? <Failed error={error} retry={refresh} /> : <Loading rows={2} />;
  return (
    <div class="webhook-message">
      <p class="quiet small">{data.payload ? "Message" : "The first attempt writes the message."}</p>
      {data.payload && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
        <pre class="webhook-text" tabIndex={0}>
          {indent(data.payload)}
        </pre>
      )}
      {reply && (
        <>
          <p class="quiet small">Reply</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
          <pre class="webhook-text" tabIndex={0}>
            {reply}
          </pre>
        </>
      )}
    </div>
  );
}

const indent = (json: string): string => JSON.stringify(JSON.parse(json), null, 2);
