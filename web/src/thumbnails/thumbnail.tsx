/** A thumbnail in a box whose size is known before it loads. */
import { createContext, type RefObject } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { viewportSize } from "../gallery/shot-key";
import { send } from "../lib/api";
import type { Image, ThumbnailUrls } from "../lib/types";
import { BOX_MESSAGES, type ThumbnailError, thumbnailErrorOf } from "./thumbnail-errors";
import { thumbnailFit } from "./thumbnail-fit";
import { ThumbnailQueue, type ThumbnailResult } from "./thumbnail-queue";
import { watchVisibility } from "./visibility";

const AGAIN_MS = 5_000;

export const Thumbnails = createContext<ThumbnailQueue | null>(null);

/** The queue for a Thumbnails.Provider. */
export function useThumbnailQueue(projectId: string): ThumbnailQueue {
  return useMemo(() => new ThumbnailQueue((ids) => requestThumbnails(projectId, ids)), [projectId]);
}

const requestThumbnails = (projectId: string, ids: string[]): Promise<ThumbnailUrls> =>
  send<ThumbnailUrls>("POST", `/projects/${projectId}/thumbnails`, { ids });

interface ThumbnailProps {
  image: Image;
  aspect: number;
  /** For screen readers. */
  alt?: string;
}

export function Thumbnail({ image, aspect, alt = image.name }: ThumbnailProps) {
  const box = useRef<HTMLSpanElement>(null);
  const result = useThumbnailResult(image, box);
  const url = result && "url" in result ? result.url : undefined;
  const [broken, setBroken] = useLoadFailure(url);
  const { width, height } = viewportSize(image.viewport);
  return (
    <span ref={box} class="thumbnail" style={{ aspectRatio: String(aspect) }}>
      {url && !broken && (
        <img
          src={url}
          alt={alt}
          width={width}
          height={height}
          loading="lazy"
          decoding="async"
          onLoad={({ currentTarget }) => setFit(currentTarget, box.current)}
          onError={() => setBroken(true)}
        />
      )}
      {result && (broken || "error" in result) && (
        <span class="thumbnail-none">
          <span class="hidden">{alt}: </span>
          {"error" in result ? BOX_MESSAGES[result.error] : "Could not load preview"}
        </span>
      )}
      {!result && <span class="hidden">{alt}</span>}
    </span>
  );
}

/** Sets an attribute, not state: hundreds of thumbnails load at a time. */
function setFit(element: HTMLImageElement, box: HTMLElement | null): void {
  if (!box) return;
  const natural = { width: element.naturalWidth, height: element.naturalHeight };
  element.dataset.fit = thumbnailFit(natural, { width: box.clientWidth, height: box.clientHeight });
}

/** The thumbnail, requested when its box is near the viewport; undefined: not known yet. */
function useThumbnailResult(image: Image, box: RefObject<HTMLElement | null>): ThumbnailResult {
  const queue = useContext(Thumbnails);
  const [received, setReceived] = useState<{ id: string; result: ThumbnailResult } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const { id } = image;
  const known = recordedResult(image) ?? (received?.id === id ? received.result : undefined);
  const result = known ?? (queue ? undefined : { url: image.url }); // without a session, nobody can request one
  const unknown = result === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another request
  useEffect(() => {
    if (!unknown || !queue || !box.current) return;
    let again: ReturnType<typeof setTimeout> | undefined;
    const here = box.current;
    const ask = () =>
      queue.request(id, here).then(
        (result) => setReceived({ id, result }),
        () => {
          again = setTimeout(() => setAttempt((count) => count + 1), AGAIN_MS);
        },
      );
    const stop = watchVisibility(here, ask, () => queue.cancel(id));
    return () => {
      stop();
      clearTimeout(again);
    };
  }, [unknown, queue, id, attempt, box]);
  return result;
}

/** Request the thumbnail of an image that may be far away in the gallery. The result also says if it is damaged. */
export function useThumbnailRequest(image: Image | null): void {
  const queue = useContext(Thumbnails);
  const [, setReceived] = useState("");
  const id = image && recordedResult(image) === undefined ? image.id : null;
  useEffect(() => {
    if (id === null) return;
    queue?.request(id).then(
      () => setReceived(id),
      () => undefined, // the image itself is shown anyway
    );
  }, [queue, id]);
}

/** Returns a function that says why an image has no thumbnail, as far as this page knows; null: it has or may get one. */
export function useThumbnailErrors(): (image: Image) => ThumbnailError | null {
  const queue = useContext(Thumbnails);
  return (image) => {
    const result = recordedResult(image) ?? queue?.resultOf(image.id); // the record may be older than the result
    return result && "error" in result ? result.error : null;
  };
}

/** What the image's own record says about its thumbnail. */
function recordedResult(image: Image): ThumbnailResult {
  const error = thumbnailErrorOf(image);
  if (error) return { error };
  return image.thumbnail_url ? { url: image.thumbnail_url } : undefined;
}

/** Whether this URL failed to load. Reset for another URL, and when the network is back. */
function useLoadFailure(url: string | undefined): [boolean, (broken: boolean) => void] {
  const [brokenUrl, setBrokenUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const retry = () => setBrokenUrl(undefined);
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return [brokenUrl !== undefined && brokenUrl === url, (broken) => setBrokenUrl(broken ? url : undefined)];
}
