/** Pictures in their original size: fetched before they are asked for, their pixel sizes remembered. */
import { useEffect } from "preact/hooks";
import type { Image } from "../lib/types";
import type { Size } from "./arrange";

const sizes = new Map<string, Size>();

/** An image's size in pixels, if it has been here. */
export const knownSize = (id: string): Size | null => sizes.get(id) ?? null;

export const remember = (id: string, size: Size): void => void sizes.set(id, size);

/** Fetch these into the browser's cache, once `when` says that nothing more urgent is under way. */
export function usePreloaded(images: (Image | undefined)[], when: boolean): void {
  const wanted = images.filter((image) => image !== undefined);
  const which = wanted.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `which` stands for the images
  useEffect(() => {
    if (when) for (const image of wanted) preload(image);
  }, [which, when]);
}

function preload({ id, url }: Image): void {
  if (sizes.has(id)) return;
  const picture = new window.Image();
  picture.onload = () => remember(id, { width: picture.naturalWidth, height: picture.naturalHeight });
  picture.src = url;
}
