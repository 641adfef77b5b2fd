/** Tells when an element comes near to being seen. One observer serves them all. */

const MARGIN = "400px 0px";

interface Watched {
  enter: () => void;
  leave: () => void;
}

const watched = new Map<Element, Watched>();
let observer: IntersectionObserver | undefined;

/** `enter` is called when it comes near, `leave` when it goes away again or is watched no longer. */
export function whileNear(element: Element, enter: () => void, leave: () => void): () => void {
  observer ??= new IntersectionObserver(tell, { rootMargin: MARGIN });
  watched.set(element, { enter, leave });
  observer.observe(element);
  return () => {
    observer?.unobserve(element);
    watched.delete(element);
    leave();
  };
}

function tell(entries: IntersectionObserverEntry[]): void {
  for (const { target, isIntersecting } of entries) {
    const told = watched.get(target);
    if (isIntersecting) told?.enter();
    else told?.leave();
  }
}
