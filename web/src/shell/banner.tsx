import { connection } from "../lib/poller";
import { useSignal } from "../lib/signal";

/** Says that the page may be out of date. */
export function Banner() {
  const state = useSignal(connection);
  return (
    <div role="status">
      {state !== "online" && (
        <p class="banner">
          {state === "offline"
            ? "You’re offline. This page may be out of date."
            : "The service is not responding. Retrying…"}
        </p>
      )}
    </div>
  );
}
