/** Where a pin is in an image. Pure. */
import type { Pin } from "../lib/types";

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The point under the pointer as a share of the image, wherever the image is drawn and however large. */
export const pinAt = (pointer: { clientX: number; clientY: number }, image: Box): Pin => ({
  x: share(pointer.clientX - image.left, image.width),
  y: share(pointer.clientY - image.top, image.height),
});

const share = (length: number, whole: number): number =>
  Math.round(Math.min(1, Math.max(0, length / Math.max(1, whole))) * 10_000) / 10_000;

export const pinStyle = ({ x, y }: Pin) => ({ left: `${x * 100}%`, top: `${y * 100}%` });
