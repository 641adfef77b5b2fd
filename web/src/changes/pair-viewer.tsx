/** The before and after images of one shot, over the page. The URL names the shot and the mode, so it can be linked. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ShotFilter } from "../gallery/shot-filter";
import { isSameShot, type ShotKey, shotId } from "../gallery/shot-key";
import { navigate, useLocation } from "../lib/router";
import type { ComparedShot, Comparison } from "../lib/types";
import type { Step } from "../lightbox/keys";
import { LightboxBar, StepButtons } from "../lightbox/lightbox-bar";
import { usePreload } from "../lightbox/preload";
import { useZoom, type Zoom } from "../lightbox/use-zoom";
import { isDoubleDecision, usePace, ViewerDialog } from "../lightbox/viewer-dialog";
import { QuarantineDialog } from "../noise/quarantine-dialog";
import { isTyping } from "../pull/shortcuts";
import { type ChangesUrls, type Mode, modeFrom, type OpenShot, pairHref } from "../pull/urls";
import { useGroupRejection } from "../review/group-rejection";
import { NotesPanel } from "../review/notes-panel";
import { pinAt } from "../review/pins";
import { type ReviewActions, ShotReviewBar } from "../review/review-bar";
import { isDecidable, nextOpen, openInGroup, rejectableInGroup } from "../review/reviews";
import type { ReviewDesk } from "../review/use-review-desk";
import { HelpIcon, HistoryIcon, ListIcon, NoteIcon } from "../ui";
import { toSections } from "./groups";
import { pairKeyAction } from "./pair-keys";
import { atBefore, usableMode } from "./pair-layout";
import { ShotHistory, ShotList } from "./pair-panels";
import { PairPanes } from "./pair-panes";
import { PairToolbar } from "./pair-toolbar";
import { toParts } from "./parts";
import { type PairImages, usePairImages } from "./use-pair-images";
import { useSyncedScroll } from "./use-synced-scroll";
import type { ShotWithVerdict } from "./verdicts";

interface PairViewerProps {
  openShot: OpenShot;
  /** The shots in the order of the page. */
  order: ShotWithVerdict[];
  comparison: Comparison;
  desk: ReviewDesk;
  urls: ChangesUrls;
  filter: ShotFilter;
  refresh: () => Promise<void>;
  onHelp: () => void;
  onClose: () => void;
}

export function PairViewer(props: PairViewerProps) {
  const { openShot, order, comparison, desk, urls, filter, refresh, onHelp, onClose } = props;
  const { groups, branch, gate, blocked, outdated_notes } = comparison;
  const modeInUrl = modeFrom(useLocation().query);
  const position = order.findIndex((shot) => isSameShot(shot, openShot.shotKey));
  const shot = order[position];
  const parts = order.flatMap(toParts);
  const mode = shot ? usableMode(shot, modeInUrl) : null;
  const images = usePairImages(shot, mode);
  const zoom = useZoom(openShot.shotKey, images.size);
  const [other, setOther] = useState<HTMLElement | null>(null);
  useSyncedScroll(zoom.stage, other, zoom.drawnSize, images.size, shot?.moves);
  const [withBoxes, setBoxes] = useState(true);
  const [mix, setMix] = useState(50);
  const [isQuarantining, setQuarantining] = useState(false);
  const [panel, setPanel] = useState<Panel | null>(null);
  const toggle = (which: Panel) => setPanel(panel === which ? null : which);
  useFirstRegion(zoom, images, shot, mode);
  const { region, nextRegion } = useRegions(zoom, images, shot, mode);
  const { previous, next } = { previous: order[position - 1], next: order[position + 1] };
  const soon = [images.diff, next?.after, next?.before, previous?.after, previous?.before];
  usePreload(
    soon.map((image) => image ?? undefined),
    images.loaded,
  );
  const show = (to: ShotKey) => navigate(pairHref(urls, to, modeInUrl, filter), { replace: true });
  const go = (step: Step) => {
    const to = step === "next" ? next : step === "previous" ? previous : undefined;
    if (to) show(to);
  };
  const choose = (chosen: Mode) => {
    if (zoom.isInitial) zoom.keepCenter();
    navigate(pairHref(urls, openShot.shotKey, chosen, filter), { replace: true });
  };
  const groupRejection = useGroupRejection(desk, (rejected) => goOn(rejected));
  const decisions: ReviewActions = {
    approve(shots) {
      if (shot && desk.decide(shots, "approved")) goOn(shots);
    },
    startRejection: (of) => desk.setDraft(of, { note: of.review.note, pin: of.review.pin }),
    startGroupRejection: groupRejection.start,
    undo() {
      const undone = desk.undo?.();
      if (undone) show(undone);
    },
  };
  const actions = desk.canDecide ? decisions : null;
  const goOn = (decided: ShotWithVerdict[]) => {
    const to = shot && nextOpen(order, shot, decided);
    if (to) show(to);
  };
  const draft = shot && desk.draftOf(shot);
  const reject = async () => {
    if (!shot || !(await desk.decide([shot], "rejected", draft))) return;
    desk.setDraft(shot, undefined);
    goOn([shot]);
  };
  /** While a note is open, a click on the after image places its pin. */
  const placePin = (event: MouseEvent): boolean => {
    const layer = (event.target as Element).closest("[data-pins]");
    if (!shot || !draft || !layer) return false;
    desk.setDraft(shot, { ...draft, pin: pinAt(event, layer.getBoundingClientRect()) });
    return true;
  };
  const toggleBoxes = () => setBoxes(!withBoxes);
  const openOriginal = () => {
    const original = shot?.after ?? shot?.before;
    if (original) window.open(original.url, "_blank", "noopener");
  };
  const onKeyDown = useKeys(zoom, {
    go,
    mode: choose,
    boxes: toggleBoxes,
    region: nextRegion,
    list: () => toggle("list"),
    history: () => urls.history && toggle("history"),
    notes: () => urls.projectId && toggle("notes"),
    approve: () => shot && actions?.approve([shot]),
    reject: () => shot && isDecidable(shot) && actions?.startRejection(shot),
    group: () => shot && actions?.approve(openInGroup(parts, shot)),
    rejectGroup: () => shot && actions?.startGroupRejection(rejectableInGroup(parts, shot)),
    undo: () => actions?.undo(),
    original: openOriginal,
    help: onHelp,
  });
  return (
    <ViewerDialog
      class={`lightbox pair-viewer ${panel ? "with-details" : ""}`}
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
        <PanelButton which="list" label="All changes (L)" {...{ panel, toggle }} />
        {urls.history && <PanelButton which="history" label="History (H)" {...{ panel, toggle }} />}
        {urls.projectId && <PanelButton which="notes" label="Notes (M)" {...{ panel, toggle }} />}
        <button type="button" class="icon-button help" title="Keyboard shortcuts (?)" onClick={onHelp}>
          <HelpIcon />
          <span class="hidden">Keyboard shortcuts</span>
        </button>
      </LightboxBar>
      <PairToolbar
        {...{ shot, mode, modeInUrl, urls, branch, mix, setMix, withBoxes, toggleBoxes, choose }}
        {...{ region, nextRegion }}
      />
      <div class="lightbox-view">
        <PairPanes
          {...{ shot, mode, images, zoom, branch, withBoxes, region, mix, setMix, setOther, go, placePin }}
          mark={draft ? { ...draft, by: "" } : shot?.review}
        />
        <StepButtons neighbors={{ previous, next }} noun="change" go={go} />
      </div>
      {panel === "list" && (
        <ShotList sections={toSections(parts, groups)} current={openShot.shotKey} show={show} />
      )}
      {panel === "history" && shot && urls.history && (
        <ShotHistory key={shotId(shot)} history={urls.history} {...{ branch, shot }} />
      )}
      {panel === "notes" && (
        <NotesPanel shots={desk.shots} outdated={outdated_notes} current={openShot.shotKey} show={show} />
      )}
      <ShotReviewBar
        {...{ desk, gate, blocked, shot, actions }}
        inView={parts}
        reject={() => void reject()}
        onQuarantine={() => setQuarantining(true)}
      />
      {groupRejection.dialog}
      {isQuarantining && urls.projectId && (
        <QuarantineDialog
          projectId={urls.projectId}
          shot={openShot.shotKey}
          onClose={() => setQuarantining(false)}
          onDone={refresh}
        />
      )}
    </ViewerDialog>
  );
}

type Panel = "list" | "history" | "notes";

const PANEL_ICONS = { list: ListIcon, history: HistoryIcon, notes: NoteIcon };

interface PanelButtonProps {
  which: Panel;
  label: string;
  panel: Panel | null;
  toggle: (which: Panel) => void;
}

function PanelButton({ which, label, panel, toggle }: PanelButtonProps) {
  const Icon = PANEL_ICONS[which];
  return (
    <button
      type="button"
      class="icon-button"
      aria-pressed={panel === which}
      title={label}
      onClick={() => toggle(which)}
    >
      <Icon />
      <span class="hidden">{label}</span>
    </button>
  );
}

/** Steps through the regions of a pair, at actual size or larger. After the last region comes the first. */
function useRegions(zoom: Zoom, { size }: PairImages, shot: ShotWithVerdict | undefined, mode: Mode | null) {
  const id = shot ? shotId(shot) : "";
  const regions = shot?.regions ?? [];
  const [current, setCurrent] = useState({ id, index: -1 });
  const index = current.id === id ? current.index : -1;
  const isWanted = useRef(false);
  useLayoutEffect(() => {
    const region = regions[index];
    if (!isWanted.current || !shot || !region) return;
    isWanted.current = false;
    showRegion(zoom, size.width, onStage(region, shot, mode));
  });
  const nextRegion = () => {
    isWanted.current = regions.length > 0;
    if (zoom.isInitial && zoom.drawnSize.width < size.width) zoom.change("toggle");
    setCurrent({ id, index: (index + 1) % Math.max(1, regions.length) });
  };
  return { region: regions.length > 0 ? index : -1, nextRegion };
}

/** The box to scroll to: side by side, the before image leads, and the after image follows. */
const onStage = (region: ComparedShot["regions"][number], { moves }: ShotWithVerdict, mode: Mode | null) =>
  mode === "side" ? atBefore(region, moves) : region;

/** Scrolls a region to the center, or to the start if it is too large. */
function showRegion({ stage, imageBox }: Zoom, width: number, region: ComparedShot["regions"][number]): void {
  const [frame, image] = [stage?.getBoundingClientRect(), imageBox.current?.getBoundingClientRect()];
  if (!stage || !frame || !image) return;
  const scale = image.width / width;
  const [x, y, w, h] = region.map((length) => length * scale) as typeof region;
  stage.scrollBy({
    left: image.left + x - frame.left - Math.max(MARGIN, (frame.width - w) / 2),
    top: image.top + y - frame.top - Math.max(MARGIN, (frame.height - h) / 2),
    behavior: "instant",
  });
}

const MARGIN = 24;

/** Scrolls to a change far down a long page when the pair opens. */
function useFirstRegion(
  zoom: Zoom,
  { size, loaded }: PairImages,
  shot: ShotWithVerdict | undefined,
  mode: Mode | null,
): void {
  const { stage, imageBox } = zoom;
  const id = shot ? shotId(shot) : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each pair, as soon as its size is known
  useEffect(() => {
    const [region] = shot?.regions ?? [];
    if (!loaded || !stage || !shot || !region) return;
    const [, row] = onStage(region, shot, mode);
    const show = () => {
      const top = ((imageBox.current?.clientHeight ?? 0) * row) / size.height;
      if (top > stage.clientHeight * 0.7) stage.scrollTo({ top: top - stage.clientHeight * 0.3 });
    };
    // The stage is measured in this frame, and drawn in its final size in the next one.
    const frame = requestAnimationFrame(() => setTimeout(show));
    return () => cancelAnimationFrame(frame);
  }, [id, loaded, stage]);
}

interface Handlers {
  go: (step: Step) => void;
  mode: (mode: Mode) => void;
  boxes: () => void;
  region: () => void;
  list: () => void;
  history: () => void;
  notes: () => void;
  original: () => void;
  help: () => void;
  approve: () => void;
  reject: () => void;
  group: () => void;
  rejectGroup: () => void;
  undo: () => void;
}

function useKeys(zoom: Zoom, handlers: Handlers): (event: KeyboardEvent) => void {
  const pace = usePace();
  return (event) => {
    if (isForSlider(event) || (isTyping(event.target) && !isSlider(event.target))) return;
    if (isLetter(event) && typeIntoNote(event)) return;
    const enter = event.key === "Enter" && event.target === zoom.stage;
    const action = enter ? ZOOM : pairKeyAction(event, zoom.pans);
    if (!action) return;
    event.preventDefault();
    if (action.do === "pan") zoom.pan(action.x, action.y);
    else if (action.do === "zoom") zoom.change(action.how);
    else if (action.do === "mode") handlers.mode(action.mode);
    else if (action.do === "go") pace(event, () => handlers.go(action.step));
    else if (!isDoubleDecision(event)) handlers[action.do]();
  };
}

const ZOOM = { do: "zoom", how: "toggle" } as const;

const isLetter = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  key.length === 1 && key !== " " && !ctrlKey && !metaKey && !altKey;

/** While a note is open, letters are part of it even if a click took the focus. */
function typeIntoNote({ currentTarget }: KeyboardEvent): boolean {
  const field = (currentTarget as Element).querySelector<HTMLElement>(".note-form textarea");
  field?.focus();
  return field !== null;
}

const isSlider = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement && target.type === "range";

/** Arrow keys move a slider that has the focus. */
const isForSlider = ({ target, key }: KeyboardEvent): boolean =>
  isSlider(target) && (key.startsWith("Arrow") || key === "Home" || key === "End");
