/** What a list shows when it has nothing to show: none there, not there yet, could not be had. */

import type { ComponentChildren } from "preact";
import type { ApiError } from "../lib/api";
import { Link } from "../lib/router";
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

/** Retries by itself too (see Poller); the button is for the impatient. */
export function Failed({ error, retry }: { error: ApiError; retry: () => unknown }) {
  const gone = error.status === 404;
  return (
    <div class="state" role="alert">
      <p class="state-title">{gone ? "This is not here" : "This could not be loaded"}</p>
      <p>{gone ? "It was deleted, or it belongs to somebody else." : error.message}</p>
      {!gone && <Button onClick={() => void retry()}>Try again</Button>}
    </div>
  );
}

/** Grey bars where the content will stand; they appear only when it takes longer than a blink. */
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
  if (error.status === 404) {
    return (
      <>
        <PageHead title="This is not here">It was deleted, or it belongs to somebody else.</PageHead>
        <Link href="/">Go to your projects</Link>
      </>
    );
  }
  return (
    <>
      <PageHead title="This could not be loaded">{error.message}</PageHead>
      <Button onClick={() => void retry()}>Try again</Button>
    </>
  );
}
