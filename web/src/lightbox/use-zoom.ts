/** The lightbox's zoom: how large it draws the image, and which part it shows. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ShotKey, type Size, shotId, viewportSize } from "../gallery/shot-key";
import type { Image } from "../lib/types";
import { knownSize, rememberSize } from "./preload";
import {
  expectedSize,
  fitScale,
  initialScale,
  isSameScale,
  largerScale,
  scaleLabel,
  smallerScale,
  toggleScale,
} from "./zoom";

const PAN_STEP = 96;

export interface Point {
  x: number;
  y: number;
}

export interface Zoom {
  stage: HTMLElement | null;
  setStage(element: HTMLElement | null): void;
  imageBox: RefObject<HTMLDivElement | null>;
  /** "Fit", "Width" or "50 %". */
  label: string;
  /** Whether it has its initial size. */
  isInitial: boolean;
  drawnSize: Size;
  /** Whether it is larger than the stage, horizontally and vertically. */
  pans: { x: boolean; y: boolean };
  change(how: "toggle" | "in" | "out", around?: Point): void;
  /** Keep the center in place, because the stage is about to change its size. */
  keepCenter(): void;
  pan(x: number, y: number): void;
}

/**
 * How large an image is drawn. Another commit of the same shot keeps the scale and the position, so that
 * the up and down keys compare two commits. Another shot starts at its top, at its initial size.
 */
export function useZoom(shotKey: ShotKey | null, natural: Size): Zoom {
  const [stage, setStage] = useState<HTMLElement | null>(null);
  const imageBox = useRef<HTMLDivElement>(null);
  const room = useContentSize(stage);
  const shot = shotKey ? shotId(shotKey) : "";
  const [chosen, setChosen] = useState<{ shot: string; scale: number } | null>(null);
  const opens = initialScale(natural, room);
  const scale = chosen?.shot === shot ? Math.max(chosen.scale, fitScale(natural, room)) : opens;
  const drawnSize = {
    width: wholePixels(natural.width * scale),
    height: wholePixels(natural.height * scale),
  };
  const keep = useFixedPoint(stage, imageBox, scale);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another shot starts at its top
  useLayoutEffect(() => stage?.scrollTo(0, 0), [stage, shot]);
  return {
    stage,
    setStage,
    imageBox,
    label: scaleLabel(scale, natural, room),
    isInitial: isSameScale(scale, opens),
    drawnSize,
    pans: { x: drawnSize.width > room.width, y: drawnSize.height > room.height },
    change(how, around) {
      keep(around);
      const next = { toggle: toggleScale, in: largerScale, out: smallerScale }[how](scale, natural, room);
      setChosen(isSameScale(next, opens) ? null : { shot, scale: next });
    },
    keepCenter: () => keep(),
    pan: (x, y) => stage?.scrollBy({ left: x * PAN_STEP, top: y * PAN_STEP }),
  };
}

/** Rounded down: a fraction of a pixel too many would make the stage scroll. */
const wholePixels = (length: number): number => Math.max(1, Math.floor(length));

/** The stage has no size before the dialog opens. */
function useContentSize(element: HTMLElement | null): Size {
  const [size, setSize] = useState<Size>({ width: window.innerWidth, height: window.innerHeight });
  useLayoutEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      if (width > 0 && height > 0) setSize({ width, height });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** Keeps the same point of the image in place when the scale changes. */
function useFixedPoint(
  stage: HTMLElement | null,
  imageBox: RefObject<HTMLElement | null>,
  scale: number,
): (around?: Point) => void {
  const kept = useRef<{ at: Point; part: Point } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the scale has changed
  useLayoutEffect(() => {
    const drawn = imageBox.current?.getBoundingClientRect();
    if (!kept.current || !drawn) return;
    const { at, part } = kept.current;
    kept.current = null;
    stage?.scrollBy({
      left: drawn.left + part.x * drawn.width - at.x,
      top: drawn.top + part.y * drawn.height - at.y,
      behavior: "instant",
    });
  }, [scale]);
  return (around) => {
    const drawn = imageBox.current?.getBoundingClientRect();
    const view = stage?.getBoundingClientRect();
    if (!drawn?.width || !drawn.height || !view) return;
    // Without a pointer, the center stays in place; a page that fits is zoomed at its top.
    const whole = drawn.height <= view.height;
    const middle = { x: view.left + view.width / 2, y: whole ? drawn.top : view.top + view.height / 2 };
    const at = around ?? middle;
    kept.current = {
      at,
      part: { x: (at.x - drawn.left) / drawn.width, y: (at.y - drawn.top) / drawn.height },
    };
  };
}

export interface NaturalSize {
  size: Size;
  /** Whether the image has loaded; until then, its size is an estimate. */
  loaded: boolean;
  setSize(size: Size): void;
  setThumbnailSize(size: Size): void;
}

/** The image's size in pixels. Until it has loaded, the size of the previous commit or the thumbnail's shape. */
export function useNaturalSize(image: Image | null): NaturalSize {
  const [last, setLast] = useState<{ shot: string; size: Size } | null>(null);
  const [thumbnail, setThumbnail] = useState<{ id: string; size: Size } | null>(null);
  const id = image?.id ?? "";
  const shot = image ? shotId(image) : "";
  const known = knownSize(id);
  const shape = thumbnail?.id === id ? thumbnail.size : null;
  return {
    size:
      known ?? (last?.shot === shot ? last.size : expectedSize(viewportSize(image?.viewport ?? ""), shape)),
    loaded: known !== null,
    setSize(size) {
      rememberSize(id, size);
      setLast({ shot, size });
    },
    setThumbnailSize: (size) => setThumbnail({ id, size }),
  };
}
