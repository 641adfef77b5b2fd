/** Shows the first rows, and more when the user scrolls near the end. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { watchVisibility } from "../thumbnails/visibility";
import { filterParameters, type ShotFilter } from "./shot-filter";

const ROWS_AT_FIRST = 24;
const ROWS_AT_ONCE = 12;

/** Attach `end` to an element after the last row. Another filter starts at the top again. */
export function useIncrementalRows(total: number, shotFilter: ShotFilter) {
  const filter = String(new URLSearchParams(filterParameters(shotFilter)));
  const [extent, setExtent] = useState({ filter, rows: ROWS_AT_FIRST });
  const end = useRef<HTMLDivElement>(null);
  const rows = extent.filter === filter ? extent.rows : ROWS_AT_FIRST;
  const isMore = rows < total;
  // Again after each step: the end may still be near.
  useEffect(() => {
    if (!isMore || !end.current) return;
    const grow = () => setExtent({ filter, rows: rows + ROWS_AT_ONCE });
    return watchVisibility(end.current, grow, () => undefined);
  }, [isMore, rows, filter]);
  useScrollToTop(end, filter);
  /** Show some rows after the first `before` rows. */
  const showAfter = (before: number) => {
    const needed = before + ROWS_AT_FIRST;
    if (needed > rows) setExtent({ filter, rows: needed });
  };
  return { rows, end, showAfter };
}

/** When the filter changes, scroll up to the first results. */
function useScrollToTop(end: { current: HTMLElement | null }, filter: string): void {
  const last = useRef(filter);
  useLayoutEffect(() => {
    if (last.current === filter) return;
    last.current = filter;
    const gallery = end.current?.parentElement;
    if (gallery && gallery.getBoundingClientRect().top < 0) gallery.scrollIntoView({ behavior: "instant" });
  }, [end, filter]);
}
