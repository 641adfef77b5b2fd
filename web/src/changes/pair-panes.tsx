/** The images of a pair: side by side, or one over the other. */
import type { ComponentChildren, CSSProperties } from "preact";
import { shortSha } from "../lib/format";
import { refreshShown } from "../lib/poller";
import type { Step } from "../lightbox/keys";
import { drawnStyle, StageFrame, StageImage } from "../lightbox/stage";
import type { Zoom } from "../lightbox/use-zoom";
import type { Mode } from "../pull/urls";
import { type Mark, PinMark } from "../review/pin-mark";
import { useThumbnailErrors } from "../thumbnails/thumbnail";
import { Mono } from "../ui";
import { alignPieces, pieceStyle, relativeRegion, relativeSize, restStyle } from "./pair-layout";
import type { PairImages } from "./use-pair-images";
import type { ShotWithVerdict } from "./verdicts";

type PairSide = "before" | "after" | "diff";

interface PairPanesProps {
  shot: ShotWithVerdict | undefined;
  /** null: there is only one image. */
  mode: Mode | null;
  images: PairImages;
  zoom: Zoom;
  branch: string;
  withBoxes: boolean;
  /** The current region; -1: none. */
  region: number;
  /** The slider's position, or the opacity of the after image, in percent. */
  mix: number;
  setMix: (mix: number) => void;
  /** Receives the frame of the second image. */
  setOther: (element: HTMLElement | null) => void;
  go: (step: Step) => void;
  /** The pin in the after image, if there is one. */
  mark: Mark | undefined;
  /** Takes a click on an image. Returns false if it should zoom instead. */
  placePin: (event: MouseEvent) => boolean;
}

export function PairPanes(props: PairPanesProps) {
  const { shot, mode, images, zoom, branch, withBoxes, region, mix, setMix, setOther, go } = props;
  const { mark, placePin } = props;
  if (!shot) {
    return (
      <StageFrame label="No image" zoom={zoom} setFrame={zoom.setStage} go={go}>
        <NotInComparison />
      </StageFrame>
    );
  }
  const isSide = mode === "side";
  const only: PairSide = images.after ? "after" : "before";
  const lead: PairSide = mode === "diff" ? "diff" : isSide ? "before" : only;
  const isMixed = mode === "slider" || mode === "overlay";
  const boxes = withBoxes && <Boxes boxes={shot.regions} current={region} whole={images.size} />;
  const goneBoxes = withBoxes && <Boxes boxes={shot.gone} isGone whole={images.size} />;
  const layer = (which: PairSide) => <Layer which={which} images={images} mark={mark} />;
  const caption = (which: PairSide) => <Caption {...{ which, shot, branch }} />;
  const style = { "--mix": `${mix}%`, "--opacity": mix / 100 } as CSSProperties;
  return (
    <div class="panes" data-mode={mode ?? "one"} style={style}>
      <div class="pane">
        <StageFrame
          label={isMixed ? "Before and after" : LABELS[lead]}
          zoom={zoom}
          setFrame={zoom.setStage}
          go={go}
          onPick={placePin}
        >
          <div ref={zoom.imageBox} class="image-box" style={drawnStyle(zoom)}>
            {isMixed ? (
              <>
                <div class="under">
                  <AlignedBefore images={images} shot={shot} />
                </div>
                <div class="over">{layer("after")}</div>
                {mode === "slider" && <Handle setMix={setMix} />}
              </>
            ) : (
              layer(lead)
            )}
            {(lead === "before" || isMixed) && goneBoxes}
            {(lead !== "before" || isMixed) && boxes}
          </div>
        </StageFrame>
        {caption(isMixed ? "before" : lead)}
        {isMixed && caption("after")}
      </div>
      {isSide && (
        <div class="pane">
          <StageFrame label={LABELS.after} zoom={zoom} setFrame={setOther} go={go} onPick={placePin}>
            <div class="image-box" style={drawnStyle(zoom)}>
              {layer("after")}
              {boxes}
            </div>
          </StageFrame>
          {caption("after")}
        </div>
      )}
    </div>
  );
}

const LABELS: Record<PairSide, string> = { before: "Before", after: "After", diff: "Marked difference" };

/** The before image below the after image. What moved lies where the after image has it. */
function AlignedBefore({ images, shot }: { images: PairImages; shot: ShotWithVerdict }) {
  const { size } = images.sizes.before;
  const pieces = images.loaded ? alignPieces(shot) : [];
  return (
    <>
      <Layer which="before" images={images} style={restStyle(pieces, size, images.size)} />
      {pieces.map((piece) => (
        <Layer
          key={`${piece.box} ${piece.dx} ${piece.dy}`}
          which="before"
          images={images}
          style={pieceStyle(piece, size, images.size)}
          isRepeated
        />
      ))}
    </>
  );
}

interface LayerProps {
  which: PairSide;
  images: PairImages;
  style?: CSSProperties;
  /** Whether another layer shows the same image, so that screen readers skip this one. */
  isRepeated?: boolean;
  mark?: Mark | undefined;
}

function Layer({ which, images, style, isRepeated = false, mark }: LayerProps) {
  const thumbnailErrorOf = useThumbnailErrors();
  const image = images[which];
  const natural = images.sizes[which];
  if (!image) return null;
  // The marked difference has the size of the after image.
  const hasPins = which !== "before";
  return (
    <div
      class="layer"
      style={style ?? relativeSize(natural.size, images.size)}
      {...(hasPins ? { "data-pins": "" } : {})}
    >
      <StageImage
        key={image.id}
        image={image}
        alt={isRepeated ? "" : `${image.name}: ${LABELS[which].toLowerCase()}`}
        thumbnailError={thumbnailErrorOf(image)}
        natural={natural}
        onFailed={refreshShown}
      />
      {hasPins && mark?.pin && <PinMark key={image.id} mark={mark} />}
    </div>
  );
}

interface BoxesProps {
  boxes: ShotWithVerdict["regions"];
  current?: number;
  whole: PairImages["size"];
  /** Boxes of the before image. */
  isGone?: boolean;
}

function Boxes({ boxes, current = -1, whole, isGone = false }: BoxesProps) {
  return (
    <div class={`regions ${isGone ? "gone" : ""}`} aria-hidden="true">
      {boxes.map((region, index) => (
        <span
          key={region.join()}
          style={relativeRegion(region, whole)}
          {...(index === current ? { "data-current": "" } : {})}
        />
      ))}
    </div>
  );
}

function Caption({
  which,
  shot,
  branch,
}: {
  which: PairSide;
  shot: ShotWithVerdict;
  branch: string;
}): ComponentChildren {
  const commit = which === "before" ? shot.base_commit : shot.after?.commit_sha;
  const original = which === "diff" ? null : shot[which];
  return (
    <p class={`pane-caption ${which}`}>
      <strong>{LABELS[which]}</strong>
      {which === "before" && <span>{shot.is_pair ? "uploaded with the after image" : branch}</span>}
      {commit && which !== "diff" && <Mono title={commit}>{shortSha(commit)}</Mono>}
      {original && (
        <a href={original.url} target="_blank" rel="noopener" title="Open original">
          Original
        </a>
      )}
    </p>
  );
}

/** The line between before and after. Keyboard users have the slider above. */
function Handle({ setMix }: { setMix: (mix: number) => void }) {
  const move = (event: PointerEvent) => {
    const handle = event.currentTarget as HTMLElement;
    const whole = handle.parentElement?.getBoundingClientRect();
    if (!whole || !handle.hasPointerCapture(event.pointerId)) return;
    setMix(Math.min(100, Math.max(0, ((event.clientX - whole.left) / whole.width) * 100)));
  };
  return (
    <div
      class="slider-handle"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.stopPropagation(); // don't pan the image
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={move}
      onTouchStart={(event) => event.stopPropagation()}
    >
      <span />
    </div>
  );
}

function NotInComparison() {
  return (
    <div class="lightbox-gone" role="alert">
      <p class="state-title">This screenshot is not in the comparison</p>
      <p>It was deleted, or the newest commit doesn’t include it.</p>
    </div>
  );
}
