/** The lightbox's controls. */
import { formatNumber, shortSha } from "../lib/format";
import type { Image } from "../lib/types";
import { CloseIcon, DownIcon, InfoIcon, LeftIcon, MinusIcon, PlusIcon, RightIcon, UpIcon } from "../ui";
import { type Place, placeLabel } from "./arrange";
import type { Step } from "./keys";
import type { Zoom } from "./zooming";

interface BarProps {
  place: Place;
  /** The commit of the image; empty if there is no image. */
  commit: string;
  position: number;
  /** The number of shots; null if more can be loaded. */
  total: number | null;
  zoom: Zoom;
  withDetails: boolean;
  toggleDetails: () => void;
  onClose: () => void;
}

export function Bar({ place, commit, position, total, zoom, withDetails, toggleDetails, onClose }: BarProps) {
  return (
    <div class="bar">
      <p class="bar-title" title={place.name} aria-live="polite" aria-atomic="true">
        <strong>{place.name}</strong> <span class="bar-place">{placeLabel(place)}</span>{" "}
        {position >= 0 && (
          <span class="bar-position">
            {formatNumber(position + 1)}
            {total !== null && ` of ${formatNumber(total)}`}
          </span>
        )}
        {commit && <span class="hidden">commit {shortSha(commit)}</span>}
      </p>
      <fieldset class="bar-zoom">
        <legend class="hidden">Zoom</legend>
        <button type="button" class="icon-button" title="Zoom out (−)" onClick={() => zoom.change("out")}>
          <MinusIcon />
          <span class="hidden">Zoom out</span>
        </button>
        <button
          type="button"
          class="bar-scale"
          title={zoom.isAsOpened ? "Actual size (Z)" : "Back to the first size (Z)"}
          onClick={() => zoom.change("toggle")}
        >
          {zoom.label}
          <span class="hidden">{zoom.isAsOpened ? ", show actual size" : ", back to the first size"}</span>
        </button>
        <button type="button" class="icon-button" title="Zoom in (+)" onClick={() => zoom.change("in")}>
          <PlusIcon />
          <span class="hidden">Zoom in</span>
        </button>
      </fieldset>
      <button
        type="button"
        class="icon-button"
        aria-pressed={withDetails}
        title="Details (I)"
        onClick={toggleDetails}
      >
        <InfoIcon />
        <span class="hidden">Details</span>
      </button>
      <button type="button" class="icon-button" title="Close (Esc)" onClick={onClose}>
        <CloseIcon />
        <span class="hidden">Close</span>
      </button>
    </div>
  );
}

const STEPS = [
  { step: "previous", label: "Previous screenshot", icon: LeftIcon },
  { step: "next", label: "Next screenshot", icon: RightIcon },
  { step: "newer", label: "Newer commit", icon: UpIcon },
  { step: "older", label: "Older commit", icon: DownIcon },
] as const;

interface StepButtonsProps {
  neighbours: Record<Step, Image | undefined>;
  go: (step: Step) => void;
}

export function StepButtons({ neighbours, go }: StepButtonsProps) {
  const several = neighbours.newer !== undefined || neighbours.older !== undefined;
  return (
    <>
      {STEPS.filter(({ step }) => several || step === "previous" || step === "next").map(
        ({ step, label, icon: Icon }) => (
          <button
            key={step}
            type="button"
            class={`step step-${step}`}
            title={label}
            // Not `disabled`: the button would lose the focus at the end of the gallery.
            aria-disabled={neighbours[step] === undefined}
            onClick={() => go(step)}
          >
            <Icon />
            <span class="hidden">{label}</span>
          </button>
        ),
      )}
    </>
  );
}
