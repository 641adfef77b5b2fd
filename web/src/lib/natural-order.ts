/**
 * Natural order: "step-2" comes before "step-10". Numbers compare by value and letters without case; the text
 * itself breaks a tie. tests/vectors/natural_order.json tests the dashboard and the service.
 */

/** The items in the natural order of their texts. */
export function sortNaturally<T>(items: Iterable<T>, textOf: (item: T) => string): T[] {
  return [...items]
    .map((item) => ({ item, text: textOf(item), parts: partsOf(textOf(item)) }))
    .sort((one, other) => byParts(one.parts, other.parts) || byCodePoint(one.text, other.text))
    .map(({ item }) => item);
}

/** Text and digits alternate, and text comes first. */
const partsOf = (text: string): string[] => text.toLowerCase().split(/([0-9]+)/);

function byParts(one: string[], other: string[]): number {
  const both = Math.min(one.length, other.length);
  for (let index = 0; index < both; index += 1) {
    const compare = index % 2 === 1 ? byValue : byCodePoint;
    const order = compare(one[index] ?? "", other[index] ?? "");
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

/** Not as numbers: a name can have more digits than a number holds. */
function byValue(one: string, other: string): number {
  const [a, b] = [one.replace(/^0+/, ""), other.replace(/^0+/, "")];
  return a.length - b.length || byCodePoint(a, b);
}

function byCodePoint(one: string, other: string): number {
  const both = Math.min(one.length, other.length);
  for (let index = 0; index < both; index += 1) {
    const order = rank(one.charCodeAt(index)) - rank(other.charCodeAt(index));
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

/** Surrogates stand for code points above all others. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
