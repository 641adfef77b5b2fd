/** Tells when an element comes near to being seen. One observer serves them all. */

const MARGIN = "400px 0px";

interface Callbacks {
  enter: () => void;
  leave: () => void;
}

const watched = new Map<Element, Callbacks>();
let observer: IntersectionObserver | undefined;

/** `enter` is called when it comes near, `leave` when it goes away again or is watched no longer. */
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
