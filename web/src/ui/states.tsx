/** What a list shows when it has no items: empty, loading, failed. */

import type { ComponentChildren } from "preact";
import type { ApiError } from "../lib/api";
import { Button } from "./button";
import { PageHead } from "./page-head";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  );
}

/** The poller retries automatically (see Poller). The button retries at once. */
export function Failed({ error, retry }: { error: ApiError; retry: () => unknown }) {
  const gone = error.status === 404;
  return (
    <div class="state" role="alert">
      <p class="state-title">{gone ? "Not found" : "Could not load this"}</p>
      <p>{gone ? "It was deleted, or you don’t have access." : error.message}</p>
      {!gone && <Button onClick={() => void retry()}>Try again</Button>}
    </div>
  );
}

/** Gray bars in place of the content. They appear only after a short delay. */
export function Loading({ rows = 3, tall = false }: { rows?: number; tall?: boolean }) {
  return (
    <div class={`loading ${tall ? "tall" : ""}`} role="status">
      <span class="hidden">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: bars without identity
        <span key={row} class="bar" />
      ))}
    </div>
  );
}

/** In place of a whole page. */
export function FailedPage({ error, retry }: { error: ApiError; retry: () => unknown }) {
  return (
    <>
      <PageHead title="Could not load this page">{error.message}</PageHead>
      <Button onClick={() => void retry()}>Try again</Button>
    </>
  );
}
