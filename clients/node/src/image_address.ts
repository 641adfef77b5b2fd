/** Recognize the address that only delivers images, given as the address of the service. */

import { ImageAddressError } from "./errors.js";
import type { Reply } from "./sender.js";
import { message } from "./statements.js";

/** The ports that a service uses unless it is told otherwise. */
const [API_PORT, IMAGE_PORT] = ["8081", "8082"];

const ANSWERS: Record<number, string> = {
  404: '{"error":"not found"}',
  405: '{"error":"method not allowed"}',
};

/**
 * Throw ImageAddressError if a reply to a call of the API came from delivery. The API answers in the same words to a route
 * that it does not have, but with an X-Request-Id.
 */
export function refuseImageAddress(url: string, reply: Pick<Reply, "status" | "headers" | "text">): void {
  const isDelivery =
    ANSWERS[reply.status] === reply.text &&
    reply.headers.get("x-content-type-options") === "nosniff" &&
    !reply.headers.has("x-request-id");
  if (isDelivery) throw new ImageAddressError(message("image_address", { url, advice: advice(url) }));
}

function advice(url: string): string {
  if (new URL(url).port !== IMAGE_PORT) return message("use_service_address");
  const meant = url.replace(`:${IMAGE_PORT}`, `:${API_PORT}`);
  return `; ${message("did_you_mean", { meant })}`;
}
