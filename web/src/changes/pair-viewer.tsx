/** The before and after images of one shot, over the page. The URL names the shot and the mode, so it can be linked. */
import { useEffect, useState } from "preact/hooks";
import type { ShotFilter } from "../gallery/shot-filter";
import { isSameShot, shotId } from "../gallery/shot-key";
import { navigate, useLocation } from "../lib/router";
import type { Step } from "../lightbox/keys";
import { LightboxBar, StepButtons } from "../lightbox/lightbox-bar";
import { usePreload } from "../lightbox/preload";
import { useZoom, type Zoom } from "../lightbox/use-zoom";
import { usePace, ViewerDialog } from "../lightbox/viewer-dialog";
import { type Mode, modeFrom, type OpenShot, type PullUrls, pairHref } from "../pull/urls";
import { HelpIcon } from "../ui";
import { pairKeyAction } from "./pair-keys";
import { usableMode } from "./pair-layout";
import { PairPanes } from "./pair-panes";
import { PairToolbar } from "./pair-toolbar";
import { type PairImages, usePairImages } from "./use-pair-images";
import { useSyncedScroll } from "./use-synced-scroll";
import type { ShotWithVerdict } from "./verdicts";

interface PairViewerProps {
  openShot: OpenShot;
  /** The shots in the order of the page. */
  order: ShotWithVerdict[];
  branch: string;
  urls: PullUrls;
  filter: ShotFilter;
  onHelp: () => void;
  onClose: () => void;
}

export function PairViewer({ openShot, order, branch, urls, filter, onHelp, onClose }: PairViewerProps) {
  const modeInUrl = modeFrom(useLocation().query);
  const position = order.findIndex((shot) => isSameShot(shot, openShot.shotKey));
  const shot = order[position];
  const mode = shot ? usableMode(shot, modeInUrl) : null;
  const images = usePairImages(shot, mode);
  const zoom = useZoom(openShot.shotKey, images.size);
  const [other, setOther] = useState<HTMLElement | null>(null);
  useSyncedScroll(zoom.stage, other, zoom.drawnSize);
  const [withBoxes, setBoxes] = useState(true);
  const [mix, setMix] = useState(50);
  useFirstRegion(zoom, images, shot);
  const { previous, next } = { previous: order[position - 1], next: order[position + 1] };
  const soon = [images.diff, next?.after, next?.before, previous?.after, previous?.before];
  usePreload(
    soon.map((image) => image ?? undefined),
    images.loaded,
  );
  const go = (step: Step) => {
    const to = step === "next" ? next : step === "previous" ? previous : undefined;
    if (to) navigate(pairHref(urls, to, modeInUrl, filter), { replace: true });
  };
  const choose = (chosen: Mode) => {
    if (zoom.isInitial) zoom.keepCenter();
    navigate(pairHref(urls, openShot.shotKey, chosen, filter), { replace: true });
  };
  const toggleBoxes = () => setBoxes(!withBoxes);
  const onKeyDown = useKeys(zoom, { go, choose, toggleBoxes, onHelp });
  return (
    <ViewerDialog
      class="lightbox pair-viewer"
      shotKey={openShot.shotKey}
      onKeyDown={onKeyDown}
      onClose={onClose}
    >
      <LightboxBar
        shotKey={openShot.shotKey}
        position={position}
        total={order.length}
        zoom={zoom}
        onClose={onClose}
      >
        <button type="button" class="icon-button" title="Keyboard shortcuts (?)" onClick={onHelp}>
          <HelpIcon />
          <span class="hidden">Keyboard shortcuts</span>
        </button>
      </LightboxBar>
      <PairToolbar
        {...{ shot, mode, modeInUrl, urls, branch, mix, setMix, withBoxes, toggleBoxes, choose }}
      />
      <div class="lightbox-view">
        <PairPanes {...{ shot, mode, images, zoom, branch, withBoxes, mix, setMix, setOther, go }} />
        <StepButtons neighbors={{ previous, next }} noun="change" go={go} />
      </div>
    </ViewerDialog>
  );
}

/** Scrolls to a change far down a long page when the pair opens. */
function useFirstRegion(zoom: Zoom, { size, loaded }: PairImages, shot: ShotWithVerdict | undefined): void {
  const { stage, imageBox } = zoom;
  const id = shot ? shotId(shot) : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each pair, as soon as its size is known
  useEffect(() => {
    const [region] = shot?.regions ?? [];
    if (!loaded || !stage || !region) return;
    const show = () => {
      const top = ((imageBox.current?.clientHeight ?? 0) * region[1]) / size.height;
      if (top > stage.clientHeight * 0.7) stage.scrollTo({ top: top - stage.clientHeight * 0.3 });
    };
    // The stage is measured in this frame, and drawn in its final size in the next one.
    const frame = requestAnimationFrame(() => setTimeout(show));
    return () => cancelAnimationFrame(frame);
  }, [id, loaded, stage]);
}

interface Handlers {
  go: (step: Step) => void;
  choose: (mode: Mode) => void;
  toggleBoxes: () => void;
  onHelp: () => void;
}

function useKeys(zoom: Zoom, { go, choose, toggleBoxes, onHelp }: Handlers): (event: KeyboardEvent) => void {
  const pace = usePace();
  return (event) => {
    if (isForSlider(event)) return;
    const enter = event.key === "Enter" && event.target === zoom.stage;
    const action = enter ? ZOOM : pairKeyAction(event, zoom.pans);
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
