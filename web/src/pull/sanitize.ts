/**
 * Sanitizes a comment's HTML. The HTML comes from our service, but the names in it come from
 * uploads. So only these elements are rebuilt, with these attributes, and nothing else reaches the page.
 */

const PLAIN_ELEMENTS = new Set("h3 p br code details summary ul li table tbody tr th td".split(" "));

interface SafeElement {
  tag: string;
  attributes: Record<string, string>;
}

/** The element to show instead; null to show only its children. */
export function sanitizeElement(
  tag: string,
  attribute: (name: string) => string | null,
  imgUrl: string,
): SafeElement | null {
  if (PLAIN_ELEMENTS.has(tag)) return { tag, attributes: pickNumber("colspan", attribute) };
  if (tag === "img") {
    const src = attribute("src") ?? "";
    const alt = attribute("alt") ?? "";
    return src.startsWith(`${imgUrl}/`)
      ? { tag, attributes: { src, alt, ...pickNumber("width", attribute) } }
      : null;
  }
  if (tag === "a") {
    const href = attribute("href") ?? "";
    return /^https?:\/\//i.test(href) ? { tag, attributes: { href } } : null;
  }
  return null;
}

/** The attribute, if its value is a number. */
function pickNumber(name: string, attribute: (name: string) => string | null): Record<string, string> {
  const value = attribute(name) ?? "";
  return /^\d{1,4}$/.test(value) ? { [name]: value } : {};
}

/** Elements whose text is dropped as well. */
export const HIDDEN_ELEMENTS = new Set([
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
