/**
 * A list that is read page by page, and stays true while it changes. Pure.
 *
 * The pages are a chain: each is found by the cursor the one before it ended with. When a page's end
 * moves (something came, went or changed places), the pages after it are fetched anew from there, so
 * nothing is shown twice, left out, or kept after it has gone.
 */

export interface Page<T> {
  /** The cursor that found it; null for the first. */
  after: string | null;
  items: T[];
  next: string | null;
  etag: string | null;
}

/** Fetches the page after a cursor; undefined if it is still what the ETag says. */
export type FetchPage<T> = (after: string | null, etag: string | null) => Promise<Page<T> | undefined>;

/**
 * The chain with the pages from `from` on looked at again: as far as ends have moved, or all of them
 * if `everything` is asked for.
 */
export async function renew<T>(
  pages: readonly Page<T>[],
  fetchPage: FetchPage<T>,
  { from = 0, everything = false }: { from?: number; everything?: boolean } = {},
): Promise<Page<T>[]> {
  const renewed = [...pages];
  for (let index = from; index < Math.max(pages.length, 1); index += 1) {
    const known = pages[index];
    const after = renewed[index - 1]?.next ?? null;
    if (index > 0 && after === null) return renewed.slice(0, index); // the list has become shorter
    const etag = known?.after === after ? known.etag : null;
    const page = await fetchPage(after, etag);
    if (page) renewed[index] = page;
    if (!everything && known?.next === renewed[index]?.next) break;
  }
  return renewed;
}

/** All items in order, each once: while a chain is being renewed two pages may overlap. */
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

/** The page to look at beside the first at the nth poll: one after the other, each in its turn. */
export function turn(pages: number, poll: number): number | null {
  return pages < 2 ? null : 1 + (poll % (pages - 1));
}
