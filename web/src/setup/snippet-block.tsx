import { CopyButton } from "../ui/copy-button";
import { Mono } from "../ui/mono-and-time";
import type { Snippet } from "./snippets";

/** A snippet to copy: what it does, where it goes, and the code. */
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>
        <code>{snippet.code}</code>
      </pre>
    </div>
  );
}
