/** Messages for images without a thumbnail. */
import type { Image } from "../lib/types";

export type ThumbnailError = Exclude<Image["thumbnail"], "made" | null>;

/** In the box where the thumbnail would be. */
export const BOX_MESSAGES: Record<ThumbnailError, string> = {
  damaged: "Damaged image",
  unsupported: "Can’t preview: unsupported format",
  too_large: "Can’t preview: too large",
};

/** Above the image itself. The browser may show a part of a damaged one. */
export const LIGHTBOX_MESSAGES: Record<ThumbnailError, string> = {
  damaged: "Damaged image: the file is cut off or invalid. Take the screenshot again.",
  unsupported: "Your browser may not show this image: its format is unsupported.",
  too_large: "This image is too large to preview.",
};

export const thumbnailErrorOf = ({ thumbnail }: Image): ThumbnailError | null =>
  thumbnail === null || thumbnail === "made" ? null : thumbnail;
