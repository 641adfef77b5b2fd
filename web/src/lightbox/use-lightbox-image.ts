/** The image that the lightbox shows, and its neighbors. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { buildHistory, findEntry, type HistoryEntry } from "../gallery/history";
import { isSameShot, type ShotKey, shotId } from "../gallery/shot-key";
import { type Pages, usePages } from "../lib/live";
import type { Image, Shot } from "../lib/types";
import { type OpenShot, type PullUrls, shotImagesPath } from "../pull/urls";
import type { Step } from "./keys";

const SETTLED_MS = 150;
const NONE: Image[] = [];

export interface LightboxImage {
  image: Image | null;
  /** Not found yet, but some data is still loading. */
  waiting: boolean;
  /** The index in the gallery; -1 if its shot is missing or not loaded yet. */
  position: number;
  /** Whether it is the newest of its shot. */
  isNewest: boolean;
  /** All images of the shot that are loaded, newest first. */
  images: Image[];
  history: HistoryEntry[];
  moreCommits: (() => Promise<void>) | null;
  neighbors: Record<Step, Image | undefined>;
  refresh: () => void;
}

export function useLightboxImage(
  openShot: OpenShot,
  order: Shot[],
  shots: Pages<Shot>,
  urls: PullUrls,
): LightboxImage {
  const { shotKey } = openShot;
  const position = order.findIndex((shot) => isSameShot(shot.newest, shotKey));
  const newest = order[position]?.newest;
  const settledKey = useDebouncedKey(shotKey);
  const found = usePages(shotImagesPath(urls, settledKey), "images", idOf);
  const images = isSameShot(settledKey, shotKey) ? found.items : NONE;
  const shownId = openShot.id ?? newest?.id ?? images[0]?.id ?? "";
  const image = images.find(({ id }) => id === shownId) ?? (newest?.id === shownId ? newest : null);
  const history = useMemo(() => buildHistory(images), [images]);
  const age = findEntry(history, shownId);
  const last = useLastPosition(position);
  const settling = !isSameShot(settledKey, shotKey) || found.loading;
  return {
    image,
    waiting: shots.loading || shots.more !== null || settling || found.error !== undefined,
    position,
    isNewest: image !== null && image.id === (newest ?? images[0])?.id,
    images,
    history,
    moreCommits: found.more,
    neighbors: {
      previous: order[(position < 0 ? last : position) - 1]?.newest,
      next: order[position < 0 ? last : position + 1]?.newest,
      newer: history[age - 1]?.image,
      older: age < 0 ? undefined : history[age + 1]?.image,
    },
    refresh: () => void Promise.all([found.refresh(), shots.refresh()]),
  };
}

const idOf = ({ id }: Image): string => id;

/** The shot after a short pause, so that paging quickly through the gallery sends no requests. */
function useDebouncedKey(shotKey: ShotKey): ShotKey {
  const [settled, setSettled] = useState(shotKey);
  const id = shotId(shotKey);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `id` identifies the shot
  useEffect(() => {
    const timer = setTimeout(() => setSettled(shotKey), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [id]);
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
