/** Recognize addresses that are given as the service's, but only deliver images or redirect elsewhere. */

import { ImageAddressError, WrongAddressError } from "./errors.js";
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

/**
 * Throw WrongAddressError for a redirect. Following it would turn a POST into a GET, without the image. A service that has
 * moved keeps the route. Anything else is most likely a sign-in page.
 */
export function refuseRedirect(url: string, reply: Pick<Reply, "url" | "status" | "headers">): void {
  const location = reply.headers.get("location") ?? "";
  if (reply.status < 300 || reply.status >= 400 || !URL.canParse(location, reply.url)) return;
  const { origin, pathname } = new URL(location, reply.url);
  const route = `/v1/${new URL(reply.url).pathname.split("/v1/").at(-1)}`;
  const isMoved = pathname.endsWith(route);
  const path = (isMoved ? pathname.slice(0, -route.length) : pathname).replace(/\/+$/, "");
  const target = `${origin}${path}`.slice(0, 200);
  throw new WrongAddressError(message(isMoved ? "redirects" : "redirects_to_sign_in", { url, target }));
}

function advice(url: string): string {
  if (new URL(url).port !== IMAGE_PORT) return message("use_service_address");
  const meant = url.replace(`:${IMAGE_PORT}`, `:${API_PORT}`);
  return `; ${message("did_you_mean", { meant })}`;
}
