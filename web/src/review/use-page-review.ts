/** Reviewing on the contact sheet, with the buttons and the keys. */
import { useRef } from "preact/hooks";
import type { ShotWithVerdict } from "../changes/verdicts";
import type { ShotFilter } from "../gallery/shot-filter";
import { shotId } from "../gallery/shot-key";
import { formatCount } from "../lib/format";
import { navigate } from "../lib/router";
import { reviewKey } from "../lightbox/keys";
import { isDoubleDecision } from "../lightbox/viewer-dialog";
import { usePageKeys } from "../pull/shortcuts";
import { type ChangesUrls, pairHref } from "../pull/urls";
import { toast } from "../ui";
import type { ReviewActions } from "./review-bar";
import { isDecidable, isOpen, nextOpen, openInGroup } from "./reviews";
import type { ReviewDesk } from "./use-review-desk";

export function usePageReview(
  desk: ReviewDesk,
  found: ShotWithVerdict[],
  urls: ChangesUrls,
  filter: ShotFilter,
): ReviewActions | null {
  const latest = useRef(desk); // a toast undoes what is the last decision when somebody clicks it
  latest.current = desk;
  const undo = () => {
    const undone = latest.current.undo?.();
    if (undone) requestAnimationFrame(() => focusShot(undone));
  };
  const approve = (shots: ShotWithVerdict[], from = shots.at(-1)) => {
    const sent = desk.decide(shots, "approved");
    if (!sent || !from) return;
    focusShot(nextOpen(found, from, shots));
    const what = shots.length === 1 ? from.name : formatCount(shots.length, "screenshot");
    void sent.then((ok) => ok && toast(`Approved ${what}.`, "done", { label: "Undo", run: undo }));
  };
  /** A viewer opens with the note: the pin needs the image. */
  const startRejection = (shot: ShotWithVerdict) => {
    desk.setDraft(shot, { note: shot.review.note, pin: shot.review.pin });
    navigate(pairHref(urls, shot, "side", filter));
  };
  usePageKeys((event) => {
    const key = desk.canDecide && reviewKey(event);
    if (!key || isDoubleDecision(event)) return;
    event.preventDefault();
    const shot = focusedShot(found);
    if (key === "undo") undo();
    else if (!shot)
      focusShot(found.find(isOpen)); // the first press selects
    else if (key === "approve") approve([shot]);
    else if (key === "group") approve(openInGroup(found, shot), shot);
    else if (isDecidable(shot)) startRejection(shot);
  });
  return desk.canDecide ? { approve, startRejection, undo } : null;
}

const linkOf = (id: string | undefined) =>
  [...document.querySelectorAll<HTMLElement>("[data-cell]")].find(({ dataset }) => dataset.shot === id);

/** Focuses a shot on the page, or the bar that says what is left. */
function focusShot(shot: ShotWithVerdict | undefined): void {
  const target = (shot && linkOf(shotId(shot))) ?? document.querySelector<HTMLElement>(".review-bar");
  target?.focus({ preventScroll: true });
  if (shot) target?.scrollIntoView({ block: "nearest" });
}

/** The shot whose link or button has the focus. */
function focusedShot(found: ShotWithVerdict[]): ShotWithVerdict | undefined {
  const link = document.activeElement?.closest(".pair")?.querySelector<HTMLElement>("[data-cell]");
  return found.find((shot) => shotId(shot) === link?.dataset.shot);
}
