import { useEffect, useLayoutEffect } from "preact/hooks";
import type { Size } from "../gallery/shot-key";

/** Scrolling one element scrolls the other to the same position. After a resize, the second follows the first. */
export function useSyncedScroll(one: HTMLElement | null, other: HTMLElement | null, drawn: Size): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a resized image scrolls to another position
  useLayoutEffect(() => {
    if (one && other) follow(one, other);
  }, [one, other, drawn.width, drawn.height]);
  useEffect(() => {
    if (!one || !other) return;
    const lead = () => follow(one, other);
    const back = () => follow(other, one);
    one.addEventListener("scroll", lead, { passive: true });
    other.addEventListener("scroll", back, { passive: true });
    return () => {
      one.removeEventListener("scroll", lead);
      other.removeEventListener("scroll", back);
    };
  }, [one, other]);
}

function follow({ scrollLeft: left, scrollTop: top }: HTMLElement, follower: HTMLElement): void {
  const isThere = Math.abs(follower.scrollLeft - left) < 1 && Math.abs(follower.scrollTop - top) < 1;
  if (!isThere) follower.scrollTo({ left, top, behavior: "instant" });
}
