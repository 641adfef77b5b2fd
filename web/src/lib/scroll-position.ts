/** Keeps the scroll position of every entry in the browser's history, so that Back restores it. */

const GROWS_FOR_MS = 2_000;

/** The entry on screen. During popstate, history.state already belongs to the next one. */
let entry: string | undefined;

/** Remember the scroll position before leaving a page. */
export function saveScroll(): void {
  if (entry === undefined) return;
  try {
    sessionStorage.setItem(`scroll:${entry}`, String(Math.round(window.scrollY)));
  } catch {
    // Storage full or forbidden: Back goes to the top.
  }
}

/** The entry that history.state names is on screen now. */
export function enterEntry(): void {
  const key: unknown = window.history.state?.key;
  entry = typeof key === "string" ? key : undefined;
}

/** Scroll to the entry's saved position as soon as the page is long enough. */
export function restoreScroll(): void {
  const top = loadScroll();
  let observer: ResizeObserver | undefined;
  const stop = () => observer?.disconnect();
  const reach = () => {
    window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) < 2) stop();
  };
  observer = new ResizeObserver(reach);
  observer.observe(document.body);
  // Stop when the user scrolls or types.
  for (const sign of ["wheel", "touchstart", "keydown"]) {
    window.addEventListener(sign, stop, { once: true, passive: true });
  }
  setTimeout(stop, GROWS_FOR_MS);
}

function loadScroll(): number {
  try {
    return Number(sessionStorage.getItem(`scroll:${entry}`) ?? 0);
  } catch {
    return 0;
  }
}
