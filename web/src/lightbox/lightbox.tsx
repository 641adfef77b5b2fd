/** One image at a time, over the gallery. The URL says which, so it can be linked and Back closes it. */
import { useState } from "preact/hooks";
import { afterDeleting, placeLabel } from "../gallery/arrange";
import type { Wanted } from "../gallery/shot-filter";
import { send } from "../lib/api";
import { shortSha } from "../lib/format";
import type { Pages } from "../lib/live";
import { navigate } from "../lib/router";
import type { Image, Project, PullRequest, Shot } from "../lib/types";
import { imagePath, lightboxHref, type Opened, type PullAddresses } from "../pull/urls";
import { useMissing, useThumbnailOf } from "../thumbnails/thumbnail";
import { LIGHTBOX_WORDS } from "../thumbnails/thumbnail-errors";
import { confirmDialog, InfoIcon, toast, useAct } from "../ui";
import { Details } from "./details";
import { actionOf, type Step } from "./keys";
import { Bar, StepButtons } from "./lightbox-bar";
import { useModal, usePace } from "./modal";
import { usePreloaded } from "./preload";
import { Stage } from "./stage";
import { type Shown, useShown } from "./use-lightbox-image";
import { useNaturalSize, useZoom, type Zoom } from "./use-zoom";

const NARROW = "(max-width: 800px)";

interface LightboxProps {
  opened: Opened;
  order: Shot[];
  shots: Pages<Shot>;
  project: Project | undefined;
  projectId: string;
  pull: PullRequest;
  at: PullAddresses;
  /** The filter of the gallery, which the URL keeps. */
  wanted: Wanted;
  onHelp: () => void;
  onClose: () => void;
  /** An image was deleted, so the page must reload its data. */
  onChanged: () => void;
}

export function Lightbox(props: LightboxProps) {
  const { opened, order, shots, project, pull, at, wanted, onHelp, onClose } = props;
  const dialog = useModal();
  const shown = useShown(opened, order, shots, at);
  const { image } = shown;
  useThumbnailOf(image);
  const missingOf = useMissing();
  const missing = image && missingOf(image);
  const natural = useNaturalSize(image);
  const zoom = useZoom(image, natural.size);
  const [withDetails, setWithDetails] = useState(() => !window.matchMedia(NARROW).matches);
  const toggleDetails = () => setWithDetails(!withDetails);
  const show = (next: Image) => navigate(lightboxHref(at, next, wanted), { replace: true });
  const go = (step: Step) => {
    const next = shown.neighbours[step];
    if (next) show(next);
  };
  const remove = useRemove(props, shown, show);
  const onKeyDown = useKeys(zoom, go, toggleDetails, onHelp);
  const quick = Object.values(shown.neighbours).filter((next) => next && missingOf(next) !== "too_large");
  usePreloaded(quick, natural.arrived);

  return (
    <dialog
      ref={dialog}
      class={`lightbox ${image && withDetails ? "with-details" : ""}`}
      aria-label={`${opened.place.name}, ${placeLabel(opened.place)}`}
      onKeyDown={onKeyDown}
      onCancel={(event) => {
        event.preventDefault(); // Escape: the URL decides whether it is open
        onClose();
      }}
    >
      <Bar
        place={opened.place}
        position={shown.position}
        total={shots.more ? null : order.length}
        zoom={zoom}
        about={image && <span class="hidden">commit {shortSha(image.commit_sha)}</span>}
        onClose={onClose}
      >
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
      </Bar>
      <div class="lightbox-view">
        {missing && (
          <p class="lightbox-note" role="status">
            {LIGHTBOX_WORDS[missing]}
          </p>
        )}
        <Stage
          image={image}
          missing={missing}
          zoom={zoom}
          natural={natural}
          go={go}
          onFailed={shown.lookAgain}
        >
          <NoPicture waiting={shown.waiting} />
        </Stage>
        <StepButtons neighbours={shown.neighbours} noun="screenshot" go={go} />
      </div>
      {image && withDetails && (
        <Details
          image={image}
          pixels={natural.arrived ? natural.size : null}
          project={project}
          pull={pull}
          at={at}
          shown={shown}
          show={show}
          onDelete={remove}
        />
      )}
    </dialog>
  );
}

function NoPicture({ waiting }: { waiting: boolean }) {
  if (waiting) return <p class="quiet">Loading…</p>;
  return (
    <div class="lightbox-gone" role="alert">
      <p class="state-title">This screenshot is gone</p>
      <p>It expired or was deleted. Its link no longer works.</p>
    </div>
  );
}

function useKeys(zoom: Zoom, go: (step: Step) => void, toggleDetails: () => void, help: () => void) {
  const pace = usePace();
  return (event: KeyboardEvent) => {
    const enter = event.key === "Enter" && event.target === zoom.stage;
    const action = enter ? ZOOM : actionOf(event, zoom.pans);
    if (!action) return;
    event.preventDefault();
    if (action.do === "pan") zoom.pan(action.x, action.y);
    else if (action.do === "zoom") zoom.change(action.how);
    else if (action.do === "details") toggleDetails();
    else if (action.do === "help") help();
    else pace(event, () => go(action.step));
  };
}

const ZOOM = { do: "zoom", how: "toggle" } as const;

function useRemove(
  props: LightboxProps,
  { image, images }: Shown,
  show: (image: Image) => void,
): () => Promise<void> {
  const { order, projectId, onClose, onChanged } = props;
  const act = useAct();
  return async () => {
    if (!image) return;
    const sure = await confirmDialog({
      title: `Delete ${image.name}, ${placeLabel(image)}?`,
      action: "Delete screenshot",
      body: <p>Its link stops working, here and in the pull request. You can’t undo this.</p>,
    });
    if (!sure) return;
    await act.run(async () => {
      const next = afterDeleting(image, images, order);
      await send("DELETE", imagePath(projectId, image));
      toast(`Deleted ${image.name}, ${placeLabel(image)}.`);
      if (next) show(next);
      else onClose();
      onChanged();
    });
  };
}
