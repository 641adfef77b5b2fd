/** How a thumbnail fills its box. */
import type { Size } from "../gallery/arrange";

const MUCH_SMALLER = 1.5;
const NEARLY = 1.25;

/**
 * small: a button or an icon, centered at its own size.
 * whole: about the shape of the box, so it fills the box.
 * top: anything else is as wide as the box and cut off below.
 */
export type Filling = "small" | "whole" | "top";

export function filling(picture: Size, box: Size): Filling {
  if (picture.width * MUCH_SMALLER < box.width && picture.height < box.height) return "small";
  const stretch = picture.width / picture.height / (box.width / box.height);
  return stretch < NEARLY && stretch > 1 / NEARLY ? "whole" : "top";
}
