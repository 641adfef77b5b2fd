/** The image that the lightbox shows, and its neighbors. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Pages, usePages } from "../lib/live";
import type { Image, Shot } from "../lib/types";
import { commitsPath, type Opened, type PullAddresses } from "./addresses";
import { type Place, placeKey, samePlace } from "./arrange";
import type { Step } from "./keys";

const SETTLED_MS = 150;
const NEAR_THE_END = 4;

export interface Shown {
  image: Image | null;
  /** Not found yet, but not everything has loaded. */
  waiting: boolean;
  /** The index in the gallery; -1 if its shot is missing or not loaded yet. */
  position: number;
  commits: Image[];
  moreCommits: (() => Promise<void>) | null;
  neighbours: Record<Step, Image | undefined>;
  lookAgain: () => void;
}

export function useShown(opened: Opened, order: Shot[], shots: Pages<Shot>, at: PullAddresses): Shown {
  const { id: shownId, place } = opened;
  const newest = order.find((shot) => shot.newest.id === shownId)?.newest;
  const asked = useSettled(place);
  const found = usePages(commitsPath(at, asked), "images", idOf);
  const commits = samePlace(asked, place) ? found.items : [];
  const age = commits.findIndex(({ id }) => id === shownId);
  const image = commits[age] ?? newest ?? null;
  const position = order.findIndex((shot) => samePlace(shot.newest, place));
  const last = useLastPosition(position);
  // An image that is not in the loaded pages is in one of the next.
  useMore(
    (position < 0 && image !== null) || position >= order.length - NEAR_THE_END,
    order.length,
    shots.more,
  );
  const settling = !samePlace(asked, place) || found.loading;
  return {
    image,
    waiting: shots.loading || settling || found.error !== undefined,
    position,
    commits,
    moreCommits: found.more,
    neighbours: {
      previous: order[(position < 0 ? last : position) - 1]?.newest,
      next: order[position < 0 ? last : position + 1]?.newest,
      newer: commits[age - 1],
      older: age < 0 ? undefined : commits[age + 1],
    },
    lookAgain: () => void Promise.all([found.refresh(), shots.refresh()]),
  };
}

const idOf = ({ id }: Image): string => id;

/** The place after a short pause: paging quickly through the gallery requests nothing on the way. */
function useSettled(place: Place): Place {
  const [settled, setSettled] = useState(place);
  const key = placeKey(place);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key identifies the place
  useEffect(() => {
    const timer = setTimeout(() => setSettled(place), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}

/** The last known index: when an image is deleted, the next one takes its index. */
function useLastPosition(position: number): number {
  const last = useRef(position);
  useEffect(() => {
    if (position >= 0) last.current = position;
  }, [position]);
  return last.current;
}

function useMore(wanted: boolean, loaded: number, more: (() => Promise<void>) | null): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each length; a failure shows in the gallery
  useEffect(() => {
    if (wanted) more?.().catch(() => undefined);
  }, [wanted, loaded]);
}
