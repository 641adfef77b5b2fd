/** Natural order: step-2 before step-10, 390x844 before 1280x800. */

/** Compare two lists of texts. Numbers compare by value, and text by code point. */
export function byNumbers(one: readonly string[], other: readonly string[]): number {
  for (const [index, text] of one.entries()) {
    const order = compared(text, other[index] ?? "");
    if (order) return order;
  }
  return 0;
}

function compared(one: string, other: string): number {
  const [parts, others] = [one.split(/([0-9]+)/), other.split(/([0-9]+)/)];
  for (const [index, part] of parts.entries()) {
    const against = others[index];
    if (against === undefined) return 1;
    const order = index % 2 ? byValue(part, against) : byCodePoint(part, against);
    if (order) return order;
  }
  return parts.length - others.length;
}

/** Compare two numbers of any length. */
function byValue(one: string, other: string): number {
  const difference = BigInt(one) - BigInt(other);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}

/** Compare as Python does. JavaScript's own order is that of UTF-16. */
export function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
