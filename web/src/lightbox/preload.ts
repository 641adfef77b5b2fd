/** Original images: preloads them and remembers their pixel sizes. */
import { useEffect } from "preact/hooks";
import type { Size } from "../gallery/arrange";
import type { Image } from "../lib/types";

const sizes = new Map<string, Size>();

/** An image's size in pixels, if it has been here. */
export const knownSize = (id: string): Size | null => sizes.get(id) ?? null;

export const remember = (id: string, size: Size): void => void sizes.set(id, size);

/** Preload these into the browser's cache once `when` is true. */
export function usePreloaded(images: (Image | undefined)[], when: boolean): void {
  const wanted = images.filter((image) => image !== undefined);
  const which = wanted.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `which` identifies the images
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
