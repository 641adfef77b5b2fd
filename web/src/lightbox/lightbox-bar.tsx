/** The lightbox's controls. */
import type { ComponentChildren } from "preact";
import { type ShotKey, variantLabel } from "../gallery/shot-key";
import { formatNumber } from "../lib/format";
import { CloseIcon, DownIcon, LeftIcon, MinusIcon, PlusIcon, RightIcon, UpIcon } from "../ui";
import type { Step } from "./keys";
import type { Zoom } from "./use-zoom";

interface LightboxBarProps {
  shotKey: ShotKey;
  position: number;
  /** The number of shots; null if more can be loaded. */
  total: number | null;
  zoom: Zoom;
  /** More about the image, after its position. */
  about?: ComponentChildren;
  onClose: () => void;
  /** More buttons. */
  children?: ComponentChildren;
}

export function LightboxBar({ shotKey, position, total, zoom, about, onClose, children }: LightboxBarProps) {
  return (
    <div class="bar">
      <p class="bar-title" title={shotKey.name} aria-live="polite" aria-atomic="true">
        <strong>{shotKey.name}</strong> <span class="bar-variant">{variantLabel(shotKey)}</span>{" "}
        {position >= 0 && (
          <span class="bar-position">
            {formatNumber(position + 1)}
            {total !== null && ` of ${formatNumber(total)}`}
          </span>
        )}
        {about}
      </p>
      <ZoomButtons zoom={zoom} />
      {children}
      <button type="button" class="icon-button" title="Close (Esc)" onClick={onClose}>
        <CloseIcon />
        <span class="hidden">Close</span>
      </button>
    </div>
  );
}

function ZoomButtons({ zoom }: { zoom: Zoom }) {
  return (
    <fieldset class="bar-zoom">
      <legend class="hidden">Zoom</legend>
      <button type="button" class="icon-button" title="Zoom out (−)" onClick={() => zoom.change("out")}>
        <MinusIcon />
        <span class="hidden">Zoom out</span>
      </button>
      <button
        type="button"
        class="bar-scale"
        title={zoom.isInitial ? "Actual size (Z)" : "Back to initial size (Z)"}
        onClick={() => zoom.change("toggle")}
      >
        {zoom.label}
        <span class="hidden">{zoom.isInitial ? ", show actual size" : ", back to initial size"}</span>
      </button>
      <button type="button" class="icon-button" title="Zoom in (+)" onClick={() => zoom.change("in")}>
        <PlusIcon />
        <span class="hidden">Zoom in</span>
      </button>
    </fieldset>
  );
}

const STEPS = [
  { step: "previous", label: "Previous", icon: LeftIcon },
  { step: "next", label: "Next", icon: RightIcon },
  { step: "newer", label: "Newer", icon: UpIcon },
  { step: "older", label: "Older", icon: DownIcon },
] as const;

interface StepButtonsProps {
  neighbors: Partial<Record<Step, unknown>>;
  /** What the buttons step through. */
  noun: string;
  go: (step: Step) => void;
}

export function StepButtons({ neighbors, noun, go }: StepButtonsProps) {
  const several = neighbors.newer !== undefined || neighbors.older !== undefined;
  const sideways = (step: Step) => step === "previous" || step === "next";
  return (
    <>
      {STEPS.filter(({ step }) => several || sideways(step)).map(({ step, label, icon: Icon }) => (
        <button
          key={step}
          type="button"
          class={`step step-${step}`}
          title={`${label} ${sideways(step) ? noun : "commit"}`}
          // Not `disabled`: the button would lose the focus at the end of the gallery.
          aria-disabled={neighbors[step] === undefined}
          onClick={() => go(step)}
        >
          <Icon />
          <span class="hidden">{`${label} ${sideways(step) ? noun : "commit"}`}</span>
        </button>
      ))}
    </>
  );
}
