/** The rows that are on the page: the first ones, and more when the end of them comes near. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { whileNear } from "../thumbnails/visibility";
import { asParameters, type Wanted } from "./shot-filter";

const ROWS_AT_FIRST = 24;
const ROWS_AT_ONCE = 12;

/** `end` is for an element behind the last row. Another filter starts at the top again. */
export function useGrowing(total: number, wanted: Wanted) {
  const filter = String(new URLSearchParams(asParameters(wanted)));
  const [grown, setGrown] = useState({ filter, rows: ROWS_AT_FIRST });
  const end = useRef<HTMLDivElement>(null);
  const rows = grown.filter === filter ? grown.rows : ROWS_AT_FIRST;
  const isMore = rows < total;
  // Again after each step: the end may still be near.
  useEffect(() => {
    if (!isMore || !end.current) return;
    const grow = () => setGrown({ filter, rows: rows + ROWS_AT_ONCE });
    return whileNear(end.current, grow, () => undefined);
  }, [isMore, rows, filter]);
  useTopOf(end, filter);
  /** Show some rows after the first so many. */
  const showAfter = (before: number) => {
    const needed = before + ROWS_AT_FIRST;
    if (needed > rows) setGrown({ filter, rows: needed });
  };
  return { rows, end, showAfter };
}

/** Show the first results of another filter, if they are above what the screen shows. */
function useTopOf(end: { current: HTMLElement | null }, filter: string): void {
  const last = useRef(filter);
  useLayoutEffect(() => {
    if (last.current === filter) return;
    last.current = filter;
    const gallery = end.current?.parentElement;
    if (gallery && gallery.getBoundingClientRect().top < 0) gallery.scrollIntoView({ behavior: "instant" });
  }, [end, filter]);
}
