/** How a thumbnail fills its box. */
import type { Size } from "../gallery/shot-key";

const MUCH_SMALLER = 1.5;
const NEARLY = 1.25;

/**
 * small: a button or an icon, centered at its own size.
 * whole: about the shape of the box, so it fills the box.
 * top: anything else is as wide as the box and cut off below.
 */
type ThumbnailFit = "small" | "whole" | "top";

export function thumbnailFit(image: Size, box: Size): ThumbnailFit {
  if (image.width * MUCH_SMALLER < box.width && image.height < box.height) return "small";
  const stretch = image.width / image.height / (box.width / box.height);
  return stretch < NEARLY && stretch > 1 / NEARLY ? "whole" : "top";
}
