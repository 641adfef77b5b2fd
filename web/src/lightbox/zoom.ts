/** The scales of the lightbox. A scale of 1 is the original size. */
import type { Size } from "../gallery/shot-key";

const LARGEST = 4;
const RIBBON = 0.5;

/** As large as fits, but never larger than the original. */
export const fitScale = (image: Size, stage: Size): number =>
  Math.min(1, stage.width / image.width, stage.height / image.height);

/** As wide as the stage, but never larger than the original. */
const widthScale = (image: Size, stage: Size): number => Math.min(1, stage.width / image.width);

/** The scale that an image opens at: all of it, but a long page fills the width instead of being a thin ribbon. */
export function initialScale(image: Size, stage: Size): number {
  const fit = fitScale(image, stage);
  const width = widthScale(image, stage);
  return fit < width * RIBBON ? width : fit;
}

export const isSameScale = (one: number, other: number): boolean => Math.abs(one - other) <= other * 0.01;

/** The scales that plus and minus step through, smallest first. */
export function zoomSteps(image: Size, stage: Size): number[] {
  const fit = fitScale(image, stage);
  const scales = [fit, widthScale(image, stage), 0.25, 0.5, 1, 2, LARGEST].filter((scale) => scale >= fit);
  return scales
    .sort((a, b) => a - b)
    .filter((scale, at, all) => at === 0 || scale > (all[at - 1] ?? 0) * 1.05);
}

export function largerScale(scale: number, image: Size, stage: Size): number {
  return zoomSteps(image, stage).find((step) => step > scale * 1.01) ?? scale;
}

export function smallerScale(scale: number, image: Size, stage: Size): number {
  const below = zoomSteps(image, stage).filter((step) => step < scale / 1.01);
  return below.at(-1) ?? scale;
}

/** Toggles between the initial and the original size. An image that opens at its original size doubles. */
export function toggleScale(scale: number, image: Size, stage: Size): number {
  const opens = initialScale(image, stage);
  if (!isSameScale(scale, opens)) return opens;
  return opens < 1 ? 1 : 2;
}

/** The label between plus and minus. */
export function scaleLabel(scale: number, image: Size, stage: Size): string {
  if (scale < 1 && isSameScale(scale, fitScale(image, stage))) return "Fit";
  if (scale < 1 && isSameScale(scale, widthScale(image, stage))) return "Width";
  return `${Math.round(scale * 100)} %`;
}

/** The size to expect before an image has loaded: the viewport's width and the thumbnail's aspect ratio. */
export function expectedSize(viewport: Size, thumbnail: Size | null): Size {
  if (!thumbnail) return viewport;
  return { width: viewport.width, height: (viewport.width * thumbnail.height) / thumbnail.width };
}
