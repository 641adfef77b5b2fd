/** The image that the lightbox shows, and its neighbors. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Place, placeKey, samePlace } from "../gallery/arrange";
import { type Entry, entryWith, historyOf } from "../gallery/history";
import { type Pages, usePages } from "../lib/live";
import type { Image, Shot } from "../lib/types";
import { commitsPath, type Opened, type PullAddresses } from "../pull/urls";
import type { Step } from "./keys";

const SETTLED_MS = 150;
const NONE: Image[] = [];

export interface Shown {
  image: Image | null;
  /** Not found yet, but not everything has loaded. */
  waiting: boolean;
  /** The index in the gallery; -1 if its shot is missing or not loaded yet. */
  position: number;
  /** Whether it is the newest of its shot. */
  isNewest: boolean;
  /** All images of the shot that are loaded, newest first. */
  images: Image[];
  history: Entry[];
  moreCommits: (() => Promise<void>) | null;
  neighbours: Record<Step, Image | undefined>;
  lookAgain: () => void;
}

export function useShown(opened: Opened, order: Shot[], shots: Pages<Shot>, at: PullAddresses): Shown {
  const { place } = opened;
  const position = order.findIndex((shot) => samePlace(shot.newest, place));
  const newest = order[position]?.newest;
  const asked = useSettled(place);
  const found = usePages(commitsPath(at, asked), "images", idOf);
  const images = samePlace(asked, place) ? found.items : NONE;
  const shownId = opened.id ?? newest?.id ?? images[0]?.id ?? "";
  const image = images.find(({ id }) => id === shownId) ?? (newest?.id === shownId ? newest : null);
  const history = useMemo(() => historyOf(images), [images]);
  const age = entryWith(history, shownId);
  const last = useLastPosition(position);
  const settling = !samePlace(asked, place) || found.loading;
  return {
    image,
    waiting: shots.loading || shots.more !== null || settling || found.error !== undefined,
    position,
    isNewest: image !== null && image.id === (newest ?? images[0])?.id,
    images,
    history,
    moreCommits: found.more,
    neighbours: {
      previous: order[(position < 0 ? last : position) - 1]?.newest,
      next: order[position < 0 ? last : position + 1]?.newest,
      newer: history[age - 1]?.image,
      older: age < 0 ? undefined : history[age + 1]?.image,
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
