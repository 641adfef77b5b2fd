/** The sticky comment, as the forge shows it. */
import { type ComponentChild, h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import type { Comment } from "../lib/types";
import { CopyButton, Failed, Loading } from "../ui";
import { allowed, HIDDEN } from "./sanitize";

export function CommentView({ path }: { path: string }) {
  const { data, error, refresh } = useLive<Comment>(path);
  const [source, setSource] = useState(false);
  const { img_url } = useMe().service;
  if (!data) return error ? <Failed error={error} retry={refresh} /> : <Loading rows={2} tall />;
  return (
    <section class="comment-view" aria-labelledby="comment-title">
      <div class="comment-head">
        <div>
          <h2 id="comment-title">Sticky comment</h2>
          <p class="quiet small">
            Your CI job posts this comment to the pull request and keeps it up to date.
          </p>
        </div>
        <div class="comment-actions">
          <fieldset class="choice">
            <legend class="hidden">Show the comment as</legend>
            <button type="button" aria-pressed={!source} onClick={() => setSource(false)}>
              Preview
            </button>
            <button type="button" aria-pressed={source} onClick={() => setSource(true)}>
              Markdown
            </button>
          </fieldset>
          <CopyButton text={data.markdown} label="Copy markdown" />
        </div>
      </div>
      {source ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
        <pre class="comment-source" tabIndex={0}>
          {data.markdown}
        </pre>
      ) : (
        <Preview html={data.html} imgUrl={img_url} />
      )}
    </section>
  );
}

function Preview({ html, imgUrl }: { html: string; imgUrl: string }) {
  const shown = useMemo(() => rebuilt(html, imgUrl), [html, imgUrl]);
  return <div class="forge-comment">{shown}</div>;
}

/** Parsing runs and loads nothing. Only allowed elements are rebuilt. */
function rebuilt(html: string, imgUrl: string): ComponentChild[] {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  return childrenOf(body, imgUrl);
}

function childrenOf(parent: Node, imgUrl: string): ComponentChild[] {
  return [...parent.childNodes].flatMap((child) => {
    if (child instanceof Text) return [child.data];
    return child instanceof Element ? fromElement(child, imgUrl) : [];
  });
}

function fromElement(element: Element, imgUrl: string): ComponentChild[] {
  const { localName } = element;
  if (HIDDEN.has(localName)) return [];
  const shown = allowed(localName, (name) => element.getAttribute(name), imgUrl);
  if (!shown) return childrenOf(element, imgUrl);
  const { tag, attributes } = shown;
  if (tag === "img") return [h(tag, { ...attributes, loading: "lazy", decoding: "async" })];
  if (tag === "br") return [h(tag, {})];
  const extra = tag === "a" ? { target: "_blank", rel: "noopener noreferrer" } : {};
  return [h(tag, { ...attributes, ...extra }, ...childrenOf(element, imgUrl))];
}
