import { useEffect, useLayoutEffect } from "preact/hooks";
import type { Size } from "../gallery/shot-key";
import type { ComparedShot } from "../lib/types";
import { offsetInView } from "./pair-layout";

type Moves = ComparedShot["moves"];

const NO_MOVES: Moves = [];

/**
 * Scrolling the before image scrolls the after image to the same content, and the other way round. After a resize, the
 * second follows the first. `size` is that of the images, and `drawn` how large they are drawn.
 */
export function useSyncedScroll(
  before: HTMLElement | null,
  after: HTMLElement | null,
  drawn: Size,
  size: Size,
  moves: Moves = NO_MOVES,
): void {
  const scale = drawn.width / Math.max(1, size.width);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a resized image scrolls to another position
  useLayoutEffect(() => {
    if (before && after) follow(before, after, moves, scale, "before");
  }, [before, after, drawn.width, drawn.height]);
  useEffect(() => {
    if (!before || !after) return;
    // The follower can't go beyond its ends. The other must not follow it back from there.
    let placed: HTMLElement | null = null;
    let place = "";
    const scrolled = (from: HTMLElement, to: HTMLElement, side: "before" | "after") => () => {
      if (placed === from && place === placeOf(from)) return;
      follow(from, to, moves, scale, side);
      placed = to;
      place = placeOf(to);
    };
    const lead = scrolled(before, after, "before");
    const back = scrolled(after, before, "after");
    before.addEventListener("scroll", lead, { passive: true });
    after.addEventListener("scroll", back, { passive: true });
    return () => {
      before.removeEventListener("scroll", lead);
      after.removeEventListener("scroll", back);
    };
  }, [before, after, moves, scale]);
}

const placeOf = ({ scrollLeft, scrollTop }: HTMLElement): string =>
  `${Math.round(scrollLeft)} ${Math.round(scrollTop)}`;

/** Both begin at the top, so that what came in there is in view, and meet after a screen of the offset. */
const meet = (position: number, offset: number): number => position + Math.min(offset, position);

function follow(
  from: HTMLElement,
  follower: HTMLElement,
  moves: Moves,
  scale: number,
  side: "before" | "after",
): void {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = from;
  const [left, top, width, height] = [scrollLeft, scrollTop, clientWidth, clientHeight].map(
    (length) => length / scale,
  ) as [number, number, number, number];
  const [dx, dy] = scale > 0 ? offsetInView(moves, { left, top, width, height }, side) : [0, 0];
  const toward = side === "before" ? scale : -scale;
  const goal = { left: meet(scrollLeft, dx * toward), top: meet(scrollTop, dy * toward) };
  const isThere =
    Math.abs(follower.scrollLeft - goal.left) < 1 && Math.abs(follower.scrollTop - goal.top) < 1;
  if (!isThere) follower.scrollTo({ ...goal, behavior: "instant" });
}
