/** The rows that are on the page: the first ones, and more when the end of them comes near. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { watchVisibility } from "../thumbnails/visibility";
import { filterParameters, type ShotFilter } from "./shot-filter";

const ROWS_AT_FIRST = 24;
const ROWS_AT_ONCE = 12;

/** `end` is for an element behind the last row. Another filter starts at the top again. */
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
  /** Show some rows after the first so many. */
  const showAfter = (before: number) => {
    const needed = before + ROWS_AT_FIRST;
    if (needed > rows) setExtent({ filter, rows: needed });
  };
  return { rows, end, showAfter };
}

/** Show the first results of another filter, if they are above what the screen shows. */
function useScrollToTop(end: { current: HTMLElement | null }, filter: string): void {
  const last = useRef(filter);
  useLayoutEffect(() => {
    if (last.current === filter) return;
    last.current = filter;
    const gallery = end.current?.parentElement;
    if (gallery && gallery.getBoundingClientRect().top < 0) gallery.scrollIntoView({ behavior: "instant" });
  }, [end, filter]);
}
