/** The sticky comment, as the forge shows it. */
import { type ComponentChild, h } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import type { Comment } from "../lib/types";
import { CopyButton, Failed, Loading } from "../ui";
import { HIDDEN_ELEMENTS, sanitizeElement } from "./sanitize";

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
            Your CI job posts this comment by default, and keeps it up to date. With a template or another
            view, or on Bitbucket, it posts a different one.
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <pre class="comment-source" tabIndex={0}>
          {data.markdown}
        </pre>
      ) : (
        <CommentPreview html={data.html} imgUrl={img_url} />
      )}
    </section>
  );
}

function CommentPreview({ html, imgUrl }: { html: string; imgUrl: string }) {
  const safe = useMemo(() => rebuildHtml(html, imgUrl), [html, imgUrl]);
  return <div class="forge-comment">{safe}</div>;
}

/** DOMParser runs no scripts and loads nothing. Only safe elements are rebuilt. */
function rebuildHtml(html: string, imgUrl: string): ComponentChild[] {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  return rebuildChildren(body, imgUrl);
}

function rebuildChildren(parent: Node, imgUrl: string): ComponentChild[] {
  return [...parent.childNodes].flatMap((child) => {
    if (child instanceof Text) return [child.data];
    return child instanceof Element ? rebuildElement(child, imgUrl) : [];
  });
}

function rebuildElement(element: Element, imgUrl: string): ComponentChild[] {
  const { localName } = element;
  if (HIDDEN_ELEMENTS.has(localName)) return [];
  const safe = sanitizeElement(localName, (name) => element.getAttribute(name), imgUrl);
  if (!safe) return rebuildChildren(element, imgUrl);
  const { tag, attributes } = safe;
  if (tag === "img") return [h(tag, { ...attributes, loading: "lazy", decoding: "async" })];
  if (tag === "br") return [h(tag, {})];
  const extra = tag === "a" ? { target: "_blank", rel: "noopener noreferrer" } : {};
  return [h(tag, { ...attributes, ...extra }, ...rebuildChildren(element, imgUrl))];
}
