/** Where the lightbox shows the image: fitted, or zoomed in and movable. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Size } from "../gallery/shot-key";
import type { Image } from "../lib/types";
import type { ThumbnailError } from "../thumbnails/thumbnail-errors";
import { Button } from "../ui";
import { type Step, swipeStep } from "./keys";
import type { NaturalSize, Point, Zoom } from "./use-zoom";

const STILL_A_CLICK = 4;

interface StageProps {
  image: Image | null;
  /** Why it has no thumbnail: the image may not load either. */
  thumbnailError: ThumbnailError | null;
  zoom: Zoom;
  natural: NaturalSize;
  go: (step: Step) => void;
  /** The image did not load. */
  onFailed: () => void;
  /** Shown if there is no image. */
  children: ComponentChildren;
}

export function Stage({ image, thumbnailError, zoom, natural, go, onFailed, children }: StageProps) {
  return (
    <StageFrame label="Image" zoom={zoom} setFrame={zoom.setStage} go={go}>
      {image ? (
        <div ref={zoom.imageBox} class="image-box" style={drawnStyle(zoom)}>
          <StageImage
            key={image.id}
            image={image}
            thumbnailError={thumbnailError}
            natural={natural}
            onFailed={onFailed}
          />
        </div>
      ) : (
        children
      )}
    </StageFrame>
  );
}

export const drawnStyle = ({ drawnSize }: Zoom) => ({
  width: `${drawnSize.width}px`,
  height: `${drawnSize.height}px`,
});

interface StageFrameProps {
  /** Says what the frame shows, for screen readers. */
  label: string;
  zoom: Zoom;
  setFrame: (element: HTMLElement | null) => void;
  go: (step: Step) => void;
  /** Takes a click on the image. Returns false if it should zoom instead. */
  onPick?: (event: MouseEvent) => boolean;
  children: ComponentChildren;
}

/** The frame in which the keyboard and the pointer move the image. */
export function StageFrame({ label, zoom, setFrame, go, onPick, children }: StageFrameProps) {
  const pointer = usePointer(zoom, go, onPick);
  const isLarger = zoom.pans.x || zoom.pans.y;
  const how = isLarger ? ", larger than the screen: use arrow keys to move" : ": press Enter to zoom in";
  return (
    <section
      ref={setFrame}
      class={`stage ${isLarger ? "zoomed-in" : ""}`}
      aria-label={label + how}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
      tabIndex={0}
      {...pointer}
    >
      {children}
    </section>
  );
}

/** Shows the thumbnail until the image has loaded. */
export function StageImage({
  image,
  alt = image.name,
  thumbnailError,
  natural,
  onFailed,
}: { image: Image; alt?: string } & Pick<StageProps, "thumbnailError" | "natural" | "onFailed">) {
  const [failed, setFailed] = useState(false);
  const [showAnyway, setShowAnyway] = useState(false);
  if (thumbnailError === "too_large" && !showAnyway) {
    return (
      <div class="image-failed">
        <p>Showing this image can keep your browser busy for minutes.</p>
        <Button onClick={() => setShowAnyway(true)}>Show image</Button>
      </div>
    );
  }
  if (failed) {
    return (
      <div class="image-failed" role="alert">
        <p>{thumbnailError === "damaged" ? "Damaged image" : "Could not load this image."}</p>
        {thumbnailError !== "damaged" && <Button onClick={() => setFailed(false)}>Try again</Button>}
      </div>
    );
  }
  return (
    <>
      {!natural.loaded && image.thumbnail_url && (
        <img
          class="stand-in"
          src={image.thumbnail_url}
          alt=""
          onLoad={({ currentTarget }) => natural.setThumbnailSize(sizeOf(currentTarget))}
        />
      )}
      <img
        class={natural.loaded ? "" : "not-loaded"}
        src={image.url}
        alt={alt}
        draggable={false}
        onLoad={({ currentTarget }) => natural.setSize(sizeOf(currentTarget))}
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

/** Where a click is in the stage, even if it is in the frame beside it, which shows the same area. */
function inStage(event: MouseEvent, stage: HTMLElement | null): Point {
  const own = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const lead = stage?.getBoundingClientRect() ?? own;
  return { x: event.clientX - own.left + lead.left, y: event.clientY - own.top + lead.top };
}

/** Pointer input: a click zooms, a mouse drag moves the image, a swipe goes to the next one. */
function usePointer(zoom: Zoom, go: (step: Step) => void, onPick: StageFrameProps["onPick"]) {
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
      const onImage = event.target instanceof HTMLImageElement;
      if (!dragged && onImage && !onPick?.(event))
        latest.current.change("toggle", inStage(event, latest.current.stage));
    },
    onTouchStart(event: TouchEvent) {
      start.current = event.touches.length === 1 ? (event.touches[0] ?? null) : null;
    },
    onTouchEnd(event: TouchEvent) {
      const end = event.changedTouches[0];
      const from = start.current;
      start.current = null;
      // On a pinch-zoomed page, one finger scrolls.
      const pinched = (window.visualViewport?.scale ?? 1) > 1.01;
      if (!from || !end || latest.current.pans.x || pinched) return;
      const step = swipeStep(end.clientX - from.clientX, end.clientY - from.clientY);
      if (step) go(step);
    },
  };
}
