import type { ComponentChildren } from "preact";
import { ago, dateTime } from "../lib/format";
import { Signal, useSignal } from "../lib/signal";

/** Commit SHAs, ids, tokens, addresses. */
export function Mono({ children, title }: { children: ComponentChildren; title?: string }) {
  return (
    <code class="mono" {...(title === undefined ? {} : { title })}>
      {children}
    </code>
  );
}

const now = new Signal(Date.now());
if (typeof window !== "undefined") {
  setInterval(() => {
    now.value = Date.now();
  }, 20_000);
}

/** "3 h ago", with the exact time as its title. It updates itself. */
export function Time({ at }: { at: number }) {
  const moment = useSignal(now);
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={dateTime(at)}>
      {ago(at, Math.max(moment, Date.now()))}
    </time>
  );
}
