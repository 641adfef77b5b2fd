/** Calls back when an element comes near the viewport. All elements share one observer. */

const MARGIN = "400px 0px";

interface Callbacks {
  enter: () => void;
  leave: () => void;
}

const watched = new Map<Element, Callbacks>();
let observer: IntersectionObserver | undefined;

/** Calls `enter` when the element comes near, and `leave` when it moves away or is no longer watched. */
export function watchVisibility(element: Element, enter: () => void, leave: () => void): () => void {
  observer ??= new IntersectionObserver(notify, { rootMargin: MARGIN });
  watched.set(element, { enter, leave });
  observer.observe(element);
  return () => {
    observer?.unobserve(element);
    watched.delete(element);
    leave();
  };
}

function notify(entries: IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting } of entries) {
    const callbacks = watched.get(target);
    if (isIntersecting) callbacks?.enter();
    else callbacks?.leave();
  }
}
