/** A thumbnail in a box whose size is known before it loads. */
import { createContext, type RefObject } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { viewportSize } from "../gallery/arrange";
import { send } from "../lib/api";
import type { Image, ThumbnailUrls } from "../lib/types";
import { BOX_WORDS, type Missing, missingOf } from "./thumbnail-errors";
import { filling } from "./thumbnail-fit";
import { type Answer, ThumbnailQueue } from "./thumbnail-queue";
import { whileNear } from "./visibility";

const AGAIN_MS = 5_000;

export const Thumbnails = createContext<ThumbnailQueue | null>(null);

/** The queue for a Thumbnails.Provider. */
export function useThumbnailQueue(projectId: string): ThumbnailQueue {
  return useMemo(() => new ThumbnailQueue((ids) => make(projectId, ids)), [projectId]);
}

const make = (projectId: string, ids: string[]): Promise<ThumbnailUrls> =>
  send<ThumbnailUrls>("POST", `/projects/${projectId}/thumbnails`, { ids });

interface ThumbnailProps {
  image: Image;
  aspect: number;
  /** What a screen reader says. */
  alt?: string;
}

export function Thumbnail({ image, aspect, alt = image.name }: ThumbnailProps) {
  const box = useRef<HTMLSpanElement>(null);
  const answer = useAnswer(image, box);
  const url = answer && "url" in answer ? answer.url : undefined;
  const [broken, setBroken] = useBroken(url);
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
          onLoad={({ currentTarget }) => layOut(currentTarget, box.current)}
          onError={() => setBroken(true)}
        />
      )}
      {answer && (broken || "missing" in answer) && (
        <span class="thumbnail-none">
          <span class="hidden">{alt}: </span>
          {"missing" in answer ? BOX_WORDS[answer.missing] : "Could not load preview"}
        </span>
      )}
      {!answer && <span class="hidden">{alt}</span>}
    </span>
  );
}

/** Sets an attribute, not state: hundreds of thumbnails load at a time. */
function layOut(picture: HTMLImageElement, box: HTMLElement | null): void {
  if (!box) return;
  const natural = { width: picture.naturalWidth, height: picture.naturalHeight };
  picture.dataset.filling = filling(natural, { width: box.clientWidth, height: box.clientHeight });
}

/** The thumbnail, requested when its box is near the viewport; undefined: not known yet. */
function useAnswer(image: Image, box: RefObject<HTMLElement | null>): Answer {
  const queue = useContext(Thumbnails);
  const [answered, setAnswered] = useState<{ id: string; answer: Answer } | null>(null);
  const [attempt, setAttempt] = useState(0);
  const { id } = image;
  const answer = knownAnswer(image) ?? (answered?.id === id ? answered.answer : undefined);
  const unknown = answer === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt is another request
  useEffect(() => {
    if (!unknown || !queue || !box.current) return;
    let again: ReturnType<typeof setTimeout> | undefined;
    const here = box.current;
    const ask = () =>
      queue.want(id, here).then(
        (answer) => setAnswered({ id, answer }),
        () => {
          again = setTimeout(() => setAttempt((count) => count + 1), AGAIN_MS);
        },
      );
    const stop = whileNear(here, ask, () => queue.forget(id));
    return () => {
      stop();
      clearTimeout(again);
    };
  }, [unknown, queue, id, attempt, box]);
  return answer;
}

/** Request the thumbnail of an image that may not be near in the gallery: the answer also says if it is damaged. */
export function useThumbnailOf(image: Image | null): void {
  const queue = useContext(Thumbnails);
  const [, setAnswered] = useState("");
  const id = image && knownAnswer(image) === undefined ? image.id : null;
  useEffect(() => {
    if (id === null) return;
    queue?.want(id).then(
      () => setAnswered(id),
      () => undefined, // the image itself is shown anyway
    );
  }, [queue, id]);
}

/** A function that says why an image has no thumbnail, as far as this page knows; null: it has or may get one. */
export function useMissing(): (image: Image) => Missing | null {
  const queue = useContext(Thumbnails);
  return (image) => {
    const answer = knownAnswer(image) ?? queue?.answered(image.id); // the record may be older than the answer
    return answer && "missing" in answer ? answer.missing : null;
  };
}

/** What the image's own record says about its thumbnail. */
function knownAnswer(image: Image): Answer {
  const missing = missingOf(image);
  if (missing) return { missing };
  return image.thumbnail_url ? { url: image.thumbnail_url } : undefined;
}

/** Whether this URL failed to load. Reset for another URL, and when the network is back. */
function useBroken(url: string | undefined): [boolean, (broken: boolean) => void] {
  const [brokenUrl, setBrokenUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const retry = () => setBrokenUrl(undefined);
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return [brokenUrl !== undefined && brokenUrl === url, (broken) => setBrokenUrl(broken ? url : undefined)];
}
