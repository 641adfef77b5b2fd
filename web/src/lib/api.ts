/** Calls to the dashboard API. Every failure is an ApiError with a message for the user. */

import { navigate } from "./router";
import type { SharedChanges } from "./types";

export const API = "/v1/dashboard";
const PATIENCE_MS = 20_000;

export class ApiError extends Error {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** The result of a conditional GET. Undefined data means that nothing changed since the ETag. */
export interface Fetched<T> {
  data: T | undefined;
  etag: string | null;
}

export async function get<T>(path: string): Promise<T> {
  return read<T>(await call("GET", API + path));
}

export async function getIfChanged<T>(path: string, etag: string | null): Promise<Fetched<T>> {
  return fetchIfChanged(API + path, etag);
}

/** The page behind a share link. The secret stays out of the address, which logs contain. */
export const getShared = (secret: string, etag: string | null): Promise<Fetched<SharedChanges>> =>
  fetchIfChanged("/v1/shared/changes", etag, { Authorization: `Share ${secret}` });

async function fetchIfChanged<T>(
  address: string,
  etag: string | null,
  headers: Record<string, string> = {},
): Promise<Fetched<T>> {
  const given = etag === null ? headers : { ...headers, "If-None-Match": etag };
  const response = await call("GET", address, undefined, given);
  if (response.status === 304) return { data: undefined, etag };
  return { data: await read<T>(response), etag: response.headers.get("ETag") };
}

export async function send<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T> {
  return read<T>(await call(method, API + path, body));
}

/** Calls under /auth. They are not part of the dashboard API and need no session. */
export async function auth<T>(method: "GET" | "POST", path: string, body?: unknown): Promise<T> {
  return read<T>(await call(method, `/auth${path}`, body));
}

/** The path of the sign-in page, which returns to `here`. */
export function signInPath(here: string): string {
  return here === "/" ? "/sign-in" : `/sign-in?return_to=${encodeURIComponent(here)}`;
}

async function call(
  method: string,
  address: string,
  body?: unknown,
  extra: Record<string, string> = {},
): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...extra };
  const request: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
  if (method === "GET") request.signal = AbortSignal.timeout(PATIENCE_MS);
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(address, request);
  } catch {
    throw new ApiError(0, noResponseMessage());
  }
  if (response.status === 401 && address.startsWith(API)) askToSignIn();
  if (!response.ok && response.status !== 304)
    throw new ApiError(response.status, await errorMessage(response));
  return response;
}

async function read<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiError(0, "The response was incomplete. Try again.");
  }
}

function noResponseMessage(): string {
  return navigator.onLine ? "The service is not responding. Try again." : "You’re offline.";
}

async function errorMessage(response: Response): Promise<string> {
  const body = await response.json().catch(() => null);
  const error: unknown = body?.error;
  if (response.status === 401) return "Your session has expired. Sign in again.";
  if (response.status === 502 || response.status === 504) return "The service is not responding. Try again.";
  return typeof error === "string" && error !== ""
    ? toSentence(error)
    : `The service replied with status ${response.status}.`;
}

/** Turns an API message, which is lower case and has no period, into a sentence. */
export function toSentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

function askToSignIn(): void {
  const { pathname, search } = window.location;
  if (pathname !== "/sign-in") navigate(signInPath(pathname + search), { replace: true });
}
