/** Where the lightbox shows the image: fitted, or zoomed in and movable. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Size } from "../gallery/arrange";
import type { Image } from "../lib/types";
import type { Missing } from "../thumbnails/thumbnail-errors";
import { Button } from "../ui";
import { type Step, swiped } from "./keys";
import type { Natural, Point, Zoom } from "./use-zoom";

const STILL_A_CLICK = 4;

interface StageProps {
  image: Image | null;
  /** Why it has no thumbnail, which also says what to expect of the image. */
  missing: Missing | null;
  zoom: Zoom;
  natural: Natural;
  go: (step: Step) => void;
  /** The image did not load. */
  onFailed: () => void;
  /** What to show if there is no image. */
  children: ComponentChildren;
}

export function Stage({ image, missing, zoom, natural, go, onFailed, children }: StageProps) {
  return (
    <Frame label="Image" zoom={zoom} setFrame={zoom.setStage} go={go}>
      {image ? (
        <div ref={zoom.picture} class="picture" style={drawnSize(zoom)}>
          <Picture key={image.id} image={image} missing={missing} natural={natural} onFailed={onFailed} />
        </div>
      ) : (
        children
      )}
    </Frame>
  );
}

export const drawnSize = ({ shown }: Zoom) => ({ width: `${shown.width}px`, height: `${shown.height}px` });

interface FrameProps {
  /** What it shows. */
  label: string;
  zoom: Zoom;
  setFrame: (element: HTMLElement | null) => void;
  go: (step: Step) => void;
  children: ComponentChildren;
}

/** What the keyboard and the pointer move the picture in. */
export function Frame({ label, zoom, setFrame, go, children }: FrameProps) {
  const hand = useHand(zoom, go);
  const isLarger = zoom.pans.x || zoom.pans.y;
  const how = isLarger ? ", larger than the screen: use arrow keys to move" : ": press Enter to zoom in";
  return (
    <section
      ref={setFrame}
      class={`stage ${isLarger ? "zoomed-in" : ""}`}
      aria-label={label + how}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it
      tabIndex={0}
      {...hand}
    >
      {children}
    </section>
  );
}

/** Shows the thumbnail until the image has loaded. */
export function Picture({
  image,
  alt = image.name,
  missing,
  natural,
  onFailed,
}: { image: Image; alt?: string } & Pick<StageProps, "missing" | "natural" | "onFailed">) {
  const [failed, setFailed] = useState(false);
  const [isWanted, setWanted] = useState(false);
  if (missing === "too_large" && !isWanted) {
    return (
      <div class="picture-failed">
        <p>Showing it can keep your browser busy for minutes.</p>
        <Button onClick={() => setWanted(true)}>Show image</Button>
      </div>
    );
  }
  if (failed) {
    return (
      <div class="picture-failed" role="alert">
        <p>{missing === "damaged" ? "Damaged image" : "Could not load this image."}</p>
        {missing !== "damaged" && <Button onClick={() => setFailed(false)}>Try again</Button>}
      </div>
    );
  }
  return (
    <>
      {!natural.arrived && image.thumbnail_url && (
        <img
          class="stand-in"
          src={image.thumbnail_url}
          alt=""
          onLoad={({ currentTarget }) => natural.learnFromThumbnail(sizeOf(currentTarget))}
        />
      )}
      <img
        class={natural.arrived ? "" : "arriving"}
        src={image.url}
        alt={alt}
        draggable={false}
        onLoad={({ currentTarget }) => natural.learn(sizeOf(currentTarget))}
        onError={() => {
          setFailed(true);
          onFailed();
        }}
      />
    </>
  );
}

const sizeOf = (image: HTMLImageElement): Size => ({
  width: image.naturalWidth,
  height: image.naturalHeight,
});

/** Where a click is in the stage, also if it is in a frame beside it that shows the same part. */
function inStage(event: MouseEvent, stage: HTMLElement | null): Point {
  const own = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const lead = stage?.getBoundingClientRect() ?? own;
  return { x: event.clientX - own.left + lead.left, y: event.clientY - own.top + lead.top };
}

/** Pointer input: a click zooms, a mouse drag moves the image, a swipe goes to the next one. */
function useHand(zoom: Zoom, go: (step: Step) => void) {
  const held = useRef<{ x: number; y: number; left: number; top: number; moved: boolean } | null>(null);
  const start = useRef<Touch | null>(null);
  const latest = useRef(zoom);
  useEffect(() => {
    latest.current = zoom;
  });
  return {
    onPointerDown(event: PointerEvent) {
      const { stage } = latest.current;
      if (event.pointerType !== "mouse" || event.button !== 0 || !stage) return;
      held.current = {
        x: event.clientX,
        y: event.clientY,
        left: stage.scrollLeft,
        top: stage.scrollTop,
        moved: false,
      };
    },
    onPointerMove(event: PointerEvent) {
      const { stage } = latest.current;
      if (!held.current || !stage || event.buttons === 0) return;
      const { x, y, left, top } = held.current;
      held.current.moved ||= Math.hypot(event.clientX - x, event.clientY - y) > STILL_A_CLICK;
      if (held.current.moved)
        stage.scrollTo({ left: left + x - event.clientX, top: top + y - event.clientY });
    },
    onClick(event: MouseEvent) {
      const dragged = held.current?.moved;
      held.current = null;
      const onPicture = event.target instanceof HTMLImageElement;
      if (!dragged && onPicture) latest.current.change("toggle", inStage(event, latest.current.stage));
    },
    onTouchStart(event: TouchEvent) {
      start.current = event.touches.length === 1 ? (event.touches[0] ?? null) : null;
    },
    onTouchEnd(event: TouchEvent) {
      const end = event.changedTouches[0];
      const from = start.current;
      start.current = null;
      // On a page zoomed by pinching, one finger scrolls.
      const pinched = (window.visualViewport?.scale ?? 1) > 1.01;
      if (!from || !end || latest.current.pans.x || pinched) return;
      const step = swiped(end.clientX - from.clientX, end.clientY - from.clientY);
      if (step) go(step);
    },
  };
}
