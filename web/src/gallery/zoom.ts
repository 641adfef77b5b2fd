/** The sizes the lightbox shows a picture in. A scale of 1 is the original size. */
import type { Size } from "./arrange";

const LARGEST = 4;

/** As large as fits, but never larger than the original. */
export const fitting = (picture: Size, stage: Size): number =>
  Math.min(1, stage.width / picture.width, stage.height / picture.height);

/** The scales that plus and minus go through, the smallest first. */
export function steps(picture: Size, stage: Size): number[] {
  const fit = fitting(picture, stage);
  // A long page is a thin strip when fitted: its next size fills the width.
  const fullWidth = Math.min(1, stage.width / picture.width);
  const wanted = [fit, fullWidth, 0.25, 0.5, 1, 2, LARGEST].filter((scale) => scale >= fit);
  return wanted
    .sort((a, b) => a - b)
    .filter((scale, at, all) => at === 0 || scale > (all[at - 1] ?? 0) * 1.05);
}

export function larger(scale: number, picture: Size, stage: Size): number {
  return steps(picture, stage).find((step) => step > scale * 1.01) ?? scale;
}

export function smaller(scale: number, picture: Size, stage: Size): number {
  const below = steps(picture, stage).filter((step) => step < scale / 1.01);
  return below.at(-1) ?? scale;
}

/** From the whole picture to its original size and back; a small picture, already original, doubles. */
export function toggled(scale: number, picture: Size, stage: Size): number {
  const fit = fitting(picture, stage);
  if (scale > fit * 1.01) return fit;
  return fit < 1 ? 1 : 2;
}

/** The picture's size before it has arrived: as wide as the viewport, in the shape of its thumbnail. */
export function expectedSize(viewport: Size, thumbnail: Size | null): Size {
  if (!thumbnail) return viewport;
  return { width: viewport.width, height: (viewport.width * thumbnail.height) / thumbnail.width };
}
