/**
 * What of a comment's HTML is shown. It comes from our own service, but names in it come from whoever
 * uploads: only these elements are rebuilt, with these attributes, and nothing else reaches the page.
 */

const PLAIN = new Set(["h3", "p", "br", "code", "details", "summary", "ul", "li"]);

export interface Allowed {
  tag: string;
  attributes: Record<string, string>;
}

/** The element to show for this one; null to show only what is inside it. */
export function allowed(
  tag: string,
  attribute: (name: string) => string | null,
  imgUrl: string,
): Allowed | null {
  if (PLAIN.has(tag)) return { tag, attributes: {} };
  if (tag === "img") {
    const src = attribute("src") ?? "";
    return src.startsWith(`${imgUrl}/`) ? { tag, attributes: { src, alt: attribute("alt") ?? "" } } : null;
  }
  if (tag === "a") {
    const href = attribute("href") ?? "";
    return /^https?:\/\//i.test(href) ? { tag, attributes: { href } } : null;
  }
  return null;
}

/** Elements whose text is not meant to be read. */
export const HIDDEN = new Set([
  "script",
  "style",
  "template",
  "noscript",
  "iframe",
  "object",
  "svg",
  "math",
  "title",
]);
