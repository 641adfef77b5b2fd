import type { Snippet } from "../lib/snippets";
import { CopyButton } from "./copy";
import { Mono } from "./text";

/** Something to paste, what it does, and where it goes. */
export function SnippetBlock({ snippet }: { snippet: Snippet }) {
  return (
    <div class="snippet">
      <div class="snippet-head">
        <h3>{snippet.title}</h3>
        <CopyButton text={snippet.code} label="Copy" />
      </div>
      <p class="quiet">{snippet.about}</p>
      {snippet.file && (
        <p class="snippet-file">
          <Mono>{snippet.file}</Mono>
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{snippet.code}</code>
      </pre>
    </div>
  );
}
