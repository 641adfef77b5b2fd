/** Before and after of one shot, over the page. The URL says which and how, so it can be linked. */
import { useEffect, useState } from "preact/hooks";
import { placeKey, placeLabel, samePlace } from "../gallery/arrange";
import type { Wanted } from "../gallery/shot-filter";
import { navigate, useLocation } from "../lib/router";
import type { Step } from "../lightbox/keys";
import { Bar, StepButtons } from "../lightbox/lightbox-bar";
import { useModal, usePace } from "../lightbox/modal";
import { usePreloaded } from "../lightbox/preload";
import { useZoom, type Zoom } from "../lightbox/use-zoom";
import { type Mode, modeOf, type Opened, type PullAddresses, pairHref } from "../pull/urls";
import { HelpIcon } from "../ui";
import { pairActionOf } from "./pair-keys";
import { usableMode } from "./pair-layout";
import { Panes } from "./pair-panes";
import { Strip } from "./pair-toolbar";
import { type Pictures, usePictures } from "./use-pair-images";
import { useScrolledTogether } from "./use-synced-scroll";
import type { Decided } from "./verdicts";

interface PairViewerProps {
  opened: Opened;
  /** The shots that the page shows, in its order. */
  order: Decided[];
  branch: string;
  at: PullAddresses;
  wanted: Wanted;
  onHelp: () => void;
  onClose: () => void;
}

export function PairViewer({ opened, order, branch, at, wanted, onHelp, onClose }: PairViewerProps) {
  const dialog = useModal();
  const asked = modeOf(useLocation().query);
  const position = order.findIndex((shot) => samePlace(shot, opened.place));
  const shot = order[position];
  const mode = shot ? usableMode(shot, asked) : null;
  const pictures = usePictures(shot, mode);
  const zoom = useZoom(opened.place, pictures.size);
  const [other, setOther] = useState<HTMLElement | null>(null);
  useScrolledTogether(zoom.stage, other, zoom.shown);
  const [withBoxes, setBoxes] = useState(true);
  const [mix, setMix] = useState(50);
  useFirstRegion(zoom, pictures, shot);
  const { previous, next } = { previous: order[position - 1], next: order[position + 1] };
  const soon = [pictures.diff, next?.after, next?.before, previous?.after, previous?.before];
  usePreloaded(
    soon.map((image) => image ?? undefined),
    pictures.arrived,
  );
  const go = (step: Step) => {
    const to = step === "next" ? next : step === "previous" ? previous : undefined;
    if (to) navigate(pairHref(at, to, asked, wanted), { replace: true });
  };
  const choose = (chosen: Mode) => {
    if (zoom.isAsOpened) zoom.keep();
    navigate(pairHref(at, opened.place, chosen, wanted), { replace: true });
  };
  const toggleBoxes = () => setBoxes(!withBoxes);
  const onKeyDown = useKeys(zoom, { go, choose, toggleBoxes, onHelp });
  return (
    <dialog
      ref={dialog}
      class="lightbox pair-viewer"
      aria-label={`${opened.place.name}, ${placeLabel(opened.place)}`}
      onKeyDown={onKeyDown}
      onCancel={(event) => {
        event.preventDefault(); // Escape: the URL decides whether it is open
        onClose();
      }}
    >
      <Bar place={opened.place} position={position} total={order.length} zoom={zoom} onClose={onClose}>
        <button type="button" class="icon-button" title="Keyboard shortcuts (?)" onClick={onHelp}>
          <HelpIcon />
          <span class="hidden">Keyboard shortcuts</span>
        </button>
      </Bar>
      <Strip {...{ shot, mode, asked, at, branch, mix, setMix, withBoxes, toggleBoxes, choose }} />
      <div class="lightbox-view">
        <Panes {...{ shot, mode, pictures, zoom, branch, withBoxes, mix, setMix, setOther, go }} />
        <StepButtons neighbours={{ previous, next }} noun="change" go={go} />
      </div>
    </dialog>
  );
}

/** A change far down a long page is scrolled to when the pair opens. */
function useFirstRegion(zoom: Zoom, { size, arrived }: Pictures, shot: Decided | undefined): void {
  const { stage, picture } = zoom;
  const place = shot ? placeKey(shot) : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each pair, as soon as its size is known
  useEffect(() => {
    const [region] = shot?.regions ?? [];
    if (!arrived || !stage || !region) return;
    const show = () => {
      const top = ((picture.current?.clientHeight ?? 0) * region[1]) / size.height;
      if (top > stage.clientHeight * 0.7) stage.scrollTo({ top: top - stage.clientHeight * 0.3 });
    };
    // The stage is measured in this frame, and drawn in its final size in the next one.
    const frame = requestAnimationFrame(() => setTimeout(show));
    return () => cancelAnimationFrame(frame);
  }, [place, arrived, stage]);
}

interface Does {
  go: (step: Step) => void;
  choose: (mode: Mode) => void;
  toggleBoxes: () => void;
  onHelp: () => void;
}

function useKeys(zoom: Zoom, { go, choose, toggleBoxes, onHelp }: Does): (event: KeyboardEvent) => void {
  const pace = usePace();
  return (event) => {
    if (isForSlider(event)) return;
    const enter = event.key === "Enter" && event.target === zoom.stage;
    const action = enter ? ZOOM : pairActionOf(event, zoom.pans);
    if (!action) return;
    event.preventDefault();
    if (action.do === "pan") zoom.pan(action.x, action.y);
    else if (action.do === "zoom") zoom.change(action.how);
    else if (action.do === "mode") choose(action.mode);
    else if (action.do === "boxes") toggleBoxes();
    else if (action.do === "help") onHelp();
    else pace(event, () => go(action.step));
  };
}

const ZOOM = { do: "zoom", how: "toggle" } as const;

/** Arrow keys move a slider that has the focus. */
const isForSlider = ({ target, key }: KeyboardEvent): boolean =>
  target instanceof HTMLInputElement && (key.startsWith("Arrow") || key === "Home" || key === "End");
