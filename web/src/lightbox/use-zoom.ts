/** How large the lightbox shows its picture, and which part of it. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Place, placeKey, type Size, viewportSize } from "../gallery/arrange";
import type { Image } from "../lib/types";
import { knownSize, remember } from "./preload";
import { expectedSize, fitting, isSame, larger, opening, scaleLabel, smaller, toggled } from "./zoom";

const PAN_STEP = 96;

export interface Point {
  x: number;
  y: number;
}

export interface Zoom {
  stage: HTMLElement | null;
  setStage(element: HTMLElement | null): void;
  picture: RefObject<HTMLDivElement | null>;
  /** "Fit", "Width" or "50 %". */
  label: string;
  /** Whether it has the size that it opens at. */
  isAsOpened: boolean;
  shown: Size;
  /** Whether there is more of it than the stage shows, sideways and up or down. */
  pans: { x: boolean; y: boolean };
  change(how: "toggle" | "in" | "out", around?: Point): void;
  /** Keep the middle in place, because the stage is about to get another size. */
  keep(): void;
  pan(x: number, y: number): void;
}

/**
 * How large a picture is shown. Another commit of the same place keeps the scale and the position, so that
 * two can be compared by going up and down; another place starts at its top, in the size that it opens at.
 */
export function useZoom(of: Place | null, natural: Size): Zoom {
  const [stage, setStage] = useState<HTMLElement | null>(null);
  const picture = useRef<HTMLDivElement>(null);
  const room = useContentSize(stage);
  const place = of ? placeKey(of) : "";
  const [chosen, setChosen] = useState<{ place: string; scale: number } | null>(null);
  const opens = opening(natural, room);
  const scale = chosen?.place === place ? Math.max(chosen.scale, fitting(natural, room)) : opens;
  const shown = { width: drawn(natural.width * scale), height: drawn(natural.height * scale) };
  const keep = useKeptPoint(stage, picture, scale);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another place starts at its top
  useLayoutEffect(() => stage?.scrollTo(0, 0), [stage, place]);
  return {
    stage,
    setStage,
    picture,
    label: scaleLabel(scale, natural, room),
    isAsOpened: isSame(scale, opens),
    shown,
    pans: { x: shown.width > room.width, y: shown.height > room.height },
    change(how, around) {
      keep(around);
      const next = { toggle: toggled, in: larger, out: smaller }[how](scale, natural, room);
      setChosen(isSame(next, opens) ? null : { place, scale: next });
    },
    keep: () => keep(),
    pan: (x, y) => stage?.scrollBy({ left: x * PAN_STEP, top: y * PAN_STEP }),
  };
}

/** Down to whole pixels: what fits by a fraction would make the stage scroll. */
const drawn = (length: number): number => Math.max(1, Math.floor(length));

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
function useKeptPoint(
  stage: HTMLElement | null,
  picture: RefObject<HTMLElement | null>,
  scale: number,
): (around?: Point) => void {
  const kept = useRef<{ at: Point; part: Point } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the scale has changed
  useLayoutEffect(() => {
    const drawn = picture.current?.getBoundingClientRect();
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
    const drawn = picture.current?.getBoundingClientRect();
    const view = stage?.getBoundingClientRect();
    if (!drawn?.width || !drawn.height || !view) return;
    // Without a pointer the middle stays, but a whole page is entered at its top.
    const whole = drawn.height <= view.height;
    const middle = { x: view.left + view.width / 2, y: whole ? drawn.top : view.top + view.height / 2 };
    const at = around ?? middle;
    kept.current = {
      at,
      part: { x: (at.x - drawn.left) / drawn.width, y: (at.y - drawn.top) / drawn.height },
    };
  };
}

export interface Natural {
  size: Size;
  /** Whether the picture itself is there; until then its size is a good guess. */
  arrived: boolean;
  learn(size: Size): void;
  learnFromThumbnail(size: Size): void;
}

/** The picture's size in pixels. Until it is known, that of the commit before it or the thumbnail's shape. */
export function useNaturalSize(image: Image | null): Natural {
  const [last, setLast] = useState<{ place: string; size: Size } | null>(null);
  const [thumbnail, setThumbnail] = useState<{ id: string; size: Size } | null>(null);
  const id = image?.id ?? "";
  const place = image ? placeKey(image) : "";
  const known = knownSize(id);
  const shape = thumbnail?.id === id ? thumbnail.size : null;
  return {
    size:
      known ?? (last?.place === place ? last.size : expectedSize(viewportSize(image?.viewport ?? ""), shape)),
    arrived: known !== null,
    learn(size) {
      remember(id, size);
      setLast({ place, size });
    },
    learnFromThumbnail: (size) => setThumbnail({ id, size }),
  };
}
