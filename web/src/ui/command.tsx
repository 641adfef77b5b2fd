import { CopyButton } from "./copy-button";
import { Mono } from "./mono-and-time";

/** A command to run, in a sentence or below it. */
export function Command({ command }: { command: string }) {
  return (
    <p class="run-this">
      <Mono>{command}</Mono>
      <CopyButton quiet text={command} label="Copy command" />
    </p>
  );
}
