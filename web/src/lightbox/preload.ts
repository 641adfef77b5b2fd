/** Preloads original images and remembers their sizes in pixels. */
import { useEffect } from "preact/hooks";
import type { Size } from "../gallery/shot-key";
import type { Image } from "../lib/types";

const sizes = new Map<string, Size>();

/** An image's size in pixels, if it has loaded before. */
export const knownSize = (id: string): Size | null => sizes.get(id) ?? null;

export const rememberSize = (id: string, size: Size): void => void sizes.set(id, size);

/** Preload these into the browser's cache once `when` is true. */
export function usePreload(images: (Image | undefined)[], when: boolean): void {
  const present = images.filter((image) => image !== undefined);
  const ids = present.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: `ids` identifies the images
  useEffect(() => {
    if (when) for (const image of present) preload(image);
  }, [ids, when]);
}

function preload({ id, url }: Image): void {
  if (sizes.has(id)) return;
  const element = new window.Image();
  element.onload = () => rememberSize(id, { width: element.naturalWidth, height: element.naturalHeight });
  element.src = url;
}
