/** Shows one image over the gallery. The URL names it, so it can be linked and Back closes it. */
import { useState } from "preact/hooks";
import { chooseAfterDelete } from "../gallery/arrange";
import type { ShotFilter } from "../gallery/shot-filter";
import { variantLabel } from "../gallery/shot-key";
import { send } from "../lib/api";
import { shortSha } from "../lib/format";
import type { Pages } from "../lib/live";
import { navigate } from "../lib/router";
import type { Image, Project, PullRequest, Shot } from "../lib/types";
import { imagePath, lightboxHref, type OpenShot, type PullUrls } from "../pull/urls";
import { useThumbnailErrors, useThumbnailRequest } from "../thumbnails/thumbnail";
import { LIGHTBOX_MESSAGES } from "../thumbnails/thumbnail-errors";
import { confirmDialog, InfoIcon, toast, useAction } from "../ui";
import { Details } from "./details";
import { keyAction, type Step } from "./keys";
import { LightboxBar, StepButtons } from "./lightbox-bar";
import { usePreload } from "./preload";
import { Stage } from "./stage";
import { type LightboxImage, useLightboxImage } from "./use-lightbox-image";
import { useNaturalSize, useZoom, type Zoom } from "./use-zoom";
import { usePace, ViewerDialog } from "./viewer-dialog";

const NARROW = "(max-width: 800px)";

interface LightboxProps {
  openShot: OpenShot;
  order: Shot[];
  shots: Pages<Shot>;
  project: Project | undefined;
  projectId: string;
  pull: PullRequest;
  urls: PullUrls;
  /** The gallery's filter, which stays in the URL. */
  filter: ShotFilter;
  onHelp: () => void;
  onClose: () => void;
  /** An image was deleted, so the page must reload its data. */
  onChanged: () => void;
}

export function Lightbox(props: LightboxProps) {
  const { openShot, order, shots, project, pull, urls, filter, onHelp, onClose } = props;
  const current = useLightboxImage(openShot, order, shots, urls);
  const { image } = current;
  useThumbnailRequest(image);
  const thumbnailErrorOf = useThumbnailErrors();
  const thumbnailError = image && thumbnailErrorOf(image);
  const natural = useNaturalSize(image);
  const zoom = useZoom(image, natural.size);
  const [withDetails, setWithDetails] = useState(() => !window.matchMedia(NARROW).matches);
  const toggleDetails = () => setWithDetails(!withDetails);
  const show = (next: Image) => navigate(lightboxHref(urls, next, filter), { replace: true });
  const go = (step: Step) => {
    const next = current.neighbors[step];
    if (next) show(next);
  };
  const remove = useRemove(props, current, show);
  const onKeyDown = useKeys(zoom, go, toggleDetails, onHelp);
  const quick = Object.values(current.neighbors).filter(
    (next) => next && thumbnailErrorOf(next) !== "too_large",
  );
  usePreload(quick, natural.loaded);

  return (
    <ViewerDialog
      class={`lightbox ${image && withDetails ? "with-details" : ""}`}
      shotKey={openShot.shotKey}
      onKeyDown={onKeyDown}
      onClose={onClose}
    >
      <LightboxBar
        shotKey={openShot.shotKey}
        position={current.position}
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
      </LightboxBar>
      <div class="lightbox-view">
        {thumbnailError && (
          <p class="lightbox-note" role="status">
            {LIGHTBOX_MESSAGES[thumbnailError]}
          </p>
        )}
        <Stage
          image={image}
          thumbnailError={thumbnailError}
          zoom={zoom}
          natural={natural}
          go={go}
          onFailed={current.refresh}
        >
          <NoImage waiting={current.waiting} />
        </Stage>
        <StepButtons neighbors={current.neighbors} noun="screenshot" go={go} />
      </div>
      {image && withDetails && (
        <Details
          image={image}
          pixels={natural.loaded ? natural.size : null}
          project={project}
          pull={pull}
          urls={urls}
          current={current}
          show={show}
          onDelete={remove}
        />
      )}
    </ViewerDialog>
  );
}

function NoImage({ waiting }: { waiting: boolean }) {
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
    const action = enter ? ZOOM : keyAction(event, zoom.pans);
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
  { image, images }: LightboxImage,
  show: (image: Image) => void,
): () => Promise<void> {
  const { order, projectId, onClose, onChanged } = props;
  const action = useAction();
  return async () => {
    if (!image) return;
    const sure = await confirmDialog({
      title: `Delete ${image.name}, ${variantLabel(image)}?`,
      action: "Delete screenshot",
      body: <p>Its link stops working, here and in the pull request. You can’t undo this.</p>,
    });
    if (!sure) return;
    await action.run(async () => {
      const next = chooseAfterDelete(image, images, order);
      await send("DELETE", imagePath(projectId, image));
      toast(`Deleted ${image.name}, ${variantLabel(image)}.`);
      if (next) show(next);
      else onClose();
      onChanged();
    });
  };
}
