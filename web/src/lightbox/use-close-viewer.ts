/** Closes the viewer over the page. The URL says whether it is open, so it can be linked and Back closes it. */
import { useEffect, useRef } from "preact/hooks";
import type { ShotFilter } from "../gallery/shot-filter";
import { shotId } from "../gallery/shot-key";
import { navigate, useLocation } from "../lib/router";
import { type ChangesUrls, type OpenShot, pageHref, type Tab } from "../pull/urls";

/** Returns a function that closes the viewer. It goes back in history if the viewer was opened from this page. */
export function useCloseViewer(
  urls: ChangesUrls,
  tab: Tab,
  filter: ShotFilter,
  openShot: OpenShot | null,
): () => void {
  const isInUrl = useLocation().query.has("shot");
  const last = useRef<{ openShot: OpenShot | null; isInUrl: boolean; openedHere: boolean } | null>(null);
  useEffect(() => {
    const before = last.current;
    if (before?.openShot && !openShot) focusShot(before.openShot);
    last.current = {
      openShot,
      isInUrl,
      openedHere: before !== null && (!before.isInUrl || before.openedHere),
    };
  });
  return () => {
    if (last.current?.openedHere) window.history.back();
    else navigate(pageHref(urls, { tab, filter }), { replace: true });
  };
}

/** Focus the image on the page, or the newest one of its shot if it is folded away. */
function focusShot({ id, shotKey }: OpenShot): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-shot]")];
  const itself = links.find(({ dataset }) => id !== null && dataset.image === id);
  const sameShot = links.find(({ dataset }) => dataset.shot === shotId(shotKey));
  (itself ?? sameShot ?? document.querySelector<HTMLElement>("h1"))?.focus();
}
