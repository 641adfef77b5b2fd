/**
 * A list that is loaded page by page and stays correct while it changes. Pure.
 *
 * The pages form a chain: each starts after the cursor of the one before it. When the end of a page moves
 * (items were added, deleted or reordered), the pages after it are loaded again from there. So no item is
 * shown twice, left out, or kept after it was deleted.
 */

export interface Page<T> {
  /** The cursor it starts after; null for the first page. */
  after: string | null;
  items: T[];
  next: string | null;
  etag: string | null;
}

/** Fetches the page after a cursor; undefined if it still matches the ETag. */
export type FetchPage<T> = (after: string | null, etag: string | null) => Promise<Page<T> | undefined>;

/**
 * Check the pages from `from` on again: while the ends of pages have moved, or all pages with `everything`.
 */
export async function renewPages<T>(
  pages: readonly Page<T>[],
  fetchPage: FetchPage<T>,
  { from = 0, everything = false }: { from?: number; everything?: boolean } = {},
): Promise<Page<T>[]> {
  const renewed = [...pages];
  for (let index = from; index < Math.max(pages.length, 1); index += 1) {
    const known = pages[index];
    const after = renewed[index - 1]?.next ?? null;
    if (index > 0 && after === null) return renewed.slice(0, index); // the list got shorter
    const etag = known?.after === after ? known.etag : null;
    const page = await fetchPage(after, etag);
    if (page) renewed[index] = page;
    if (!everything && known?.next === renewed[index]?.next) break;
  }
  return renewed;
}

/** All items in order, without duplicates: two pages may overlap while the chain is renewed. */
export function flatten<T>(pages: readonly Page<T>[], idOf: (item: T) => string | number): T[] {
  const items = new Map<string | number, T>();
  for (const page of pages) {
    for (const item of page.items) {
      const id = idOf(item);
      if (!items.has(id)) items.set(id, item);
    }
  }
  return [...items.values()];
}

/** The page to check in addition to the first one at the nth poll: each in turn. */
export function nextPageToCheck(pages: number, poll: number): number | null {
  return pages < 2 ? null : 1 + (poll % (pages - 1));
}
