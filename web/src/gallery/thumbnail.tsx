/** A thumbnail in a box whose size is known before it loads. */
import { createContext, type RefObject } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "../lib/api";
import type { Image, ThumbnailUrls } from "../lib/types";
import { viewportSize } from "./arrange";
import { type Answer, ThumbnailQueue } from "./asking";
import { filling } from "./filling";
import { whileNear } from "./near";

const AGAIN_MS = 5_000;

export const Thumbnails = createContext<ThumbnailQueue | null>(null);

/** The queue for a Thumbnails.Provider. */
export function useThumbnailQueue(projectId: string): ThumbnailQueue {
  return useMemo(() => new ThumbnailQueue((ids) => make(projectId, ids)), [projectId]);
}

async function make(projectId: string, ids: string[]): Promise<ThumbnailUrls["thumbnails"]> {
  const path = `/projects/${projectId}/thumbnails`;
  return (await send<ThumbnailUrls>("POST", path, { ids })).thumbnails;
}

export function Thumbnail({ image, aspect }: { image: Image; aspect: number }) {
  const box = useRef<HTMLSpanElement>(null);
  const url = useUrl(image, box);
  const [broken, setBroken] = useBroken(url);
  const { width, height } = viewportSize(image.viewport);
  return (
    <span ref={box} class="thumbnail" style={{ aspectRatio: String(aspect) }}>
      {url && !broken && (
        <img
          src={url}
          alt={image.name}
          width={width}
          height={height}
          loading="lazy"
          decoding="async"
          onLoad={({ currentTarget }) => layOut(currentTarget, box.current)}
          onError={() => setBroken(true)}
        />
      )}
      {(url === null || broken) && (
        <span class="thumbnail-none">
          <span class="hidden">{image.name}: </span>
          {broken ? "Could not load preview" : "No preview"}
        </span>
      )}
      {url === undefined && <span class="hidden">{image.name}</span>}
    </span>
  );
}

/** Sets an attribute, not state: hundreds of thumbnails load at a time. */
function layOut(picture: HTMLImageElement, box: HTMLElement | null): void {
  if (!box) return;
  const natural = { width: picture.naturalWidth, height: picture.naturalHeight };
  picture.dataset.filling = filling(natural, { width: box.clientWidth, height: box.clientHeight });
}

/** The thumbnail's URL, requested when its box is near the viewport; null: none, undefined: not known yet. */
function useUrl(image: Image, box: RefObject<HTMLElement | null>): Answer {
  const queue = useContext(Thumbnails);
  const [answer, setAnswer] = useState<{ id: string; url: Answer } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const { id, thumbnail, thumbnail_url } = image;
  const asked = answer?.id === id ? answer.url : undefined;
  const missing = thumbnail === null && asked === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another request
  useEffect(() => {
    if (!missing || !queue || !box.current) return;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ask = () =>
      queue.want(id).then(
        (url) => setAnswer({ id, url }),
        () => {
          again = setTimeout(() => setAttempt((count) => count + 1), AGAIN_MS);
        },
      );
    const stop = whileNear(box.current, ask, () => queue.forget(id));
    return () => {
      stop();
      clearTimeout(again);
    };
  }, [missing, queue, id, attempt, box]);
  if (thumbnail === "impossible") return null;
  return asked === undefined ? (thumbnail_url ?? undefined) : asked;
}

/** Whether this URL failed to load. Reset for another URL, and when the network is back. */
function useBroken(url: Answer): [boolean, (broken: boolean) => void] {
  const [brokenUrl, setBrokenUrl] = useState<Answer>(undefined);
  useEffect(() => {
    const retry = () => setBrokenUrl(undefined);
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return [brokenUrl !== undefined && brokenUrl === url, (broken) => setBrokenUrl(broken ? url : undefined)];
}
