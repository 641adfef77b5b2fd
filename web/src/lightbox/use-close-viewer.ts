/** The viewer over the page. The URL says whether it is open, so it can be linked and Back closes it. */
import { useEffect, useRef } from "preact/hooks";
import { placeKey } from "../gallery/arrange";
import type { Wanted } from "../gallery/shot-filter";
import { navigate, useLocation } from "../lib/router";
import { type Opened, type PullAddresses, pageHref, type Tab } from "../pull/urls";

/** A function that closes the viewer: it goes back in history if it was opened from this page. */
export function useClosing(at: PullAddresses, tab: Tab, wanted: Wanted, opened: Opened | null): () => void {
  const asked = useLocation().query.has("shot");
  const last = useRef<{ opened: Opened | null; asked: boolean; here: boolean } | null>(null);
  useEffect(() => {
    const before = last.current;
    if (before?.opened && !opened) focusShot(before.opened);
    last.current = { opened, asked, here: before !== null && (!before.asked || before.here) };
  });
  return () => {
    if (last.current?.here) window.history.back();
    else navigate(pageHref(at, { tab, wanted }), { replace: true });
  };
}

/** Focus the image on the page, or the newest one of its shot if it is folded away. */
function focusShot({ id, place }: Opened): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-place]")];
  const itself = links.find(({ dataset }) => id !== null && dataset.shot === id);
  const itsPlace = links.find(({ dataset }) => dataset.place === placeKey(place));
  (itself ?? itsPlace ?? document.querySelector<HTMLElement>("h1"))?.focus();
}
