/** Reviewing on the contact sheet, with the buttons and the keys. */
import type { ComponentChild } from "preact";
import { useRef } from "preact/hooks";
import { partId } from "../changes/parts";
import type { ShotWithVerdict } from "../changes/verdicts";
import type { ShotFilter } from "../gallery/shot-filter";
import { formatCount } from "../lib/format";
import { navigate } from "../lib/router";
import { reviewKey } from "../lightbox/keys";
import { isDoubleDecision } from "../lightbox/viewer-dialog";
import { usePageKeys } from "../pull/shortcuts";
import { type ChangesUrls, pairHref } from "../pull/urls";
import { toast } from "../ui";
import { useGroupRejection } from "./group-rejection";
import type { ReviewActions } from "./review-bar";
import { isDecidable, isOpen, nextOpen, openInGroup, rejectableInGroup } from "./reviews";
import type { ReviewDesk } from "./use-review-desk";

export function usePageReview(
  desk: ReviewDesk,
  found: ShotWithVerdict[],
  urls: ChangesUrls,
  filter: ShotFilter,
): { actions: ReviewActions | null; dialog: ComponentChild } {
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
  const groupRejection = useGroupRejection(desk, (rejected) => {
    const [first] = rejected;
    toast(`Rejected ${formatCount(rejected.length, "screenshot")}.`, "done", { label: "Undo", run: undo });
    if (first) requestAnimationFrame(() => focusShot(nextOpen(found, first, rejected)));
  });
  const startGroupRejection = groupRejection.start;
  usePageKeys((event) => {
    const key = desk.canDecide && reviewKey(event);
    if (!key || isDoubleDecision(event)) return;
    event.preventDefault();
    const shot = focusedShot(found);
    const isGroup = Boolean(document.activeElement?.closest(".group-head"));
    if (key === "undo") undo();
    else if (!shot || (isGroup && key === "approve"))
      focusShot(shot ?? found.find(isOpen)); // the first press selects
    else if (key === "approve") approve([shot]);
    else if (key === "group") approve(openInGroup(found, shot), shot);
    else if (key === "rejectGroup" || isGroup) startGroupRejection(rejectableInGroup(found, shot));
    else if (isDecidable(shot)) startRejection(shot);
  });
  const actions = desk.canDecide ? { approve, startRejection, startGroupRejection, undo } : null;
  return { actions, dialog: groupRejection.dialog };
}

const linkOf = (id: string | undefined) =>
  [...document.querySelectorAll<HTMLElement>("[data-cell]")].find(({ dataset }) => dataset.cell === id);

/** Focuses a shot on the page, or the bar that says what is left. */
function focusShot(shot: ShotWithVerdict | undefined): void {
  const target = (shot && linkOf(partId(shot))) ?? document.querySelector<HTMLElement>(".review-bar");
  target?.focus({ preventScroll: true });
  if (shot) target?.scrollIntoView({ block: "nearest" });
}

/** The shot whose link or button has the focus, or the first one of the group whose heading or button has it. */
function focusedShot(found: ShotWithVerdict[]): ShotWithVerdict | undefined {
  const focused = document.activeElement;
  const part = focused?.closest(".pair") ?? focused?.closest(".group");
  const link = part?.querySelector<HTMLElement>("[data-cell]");
  return found.find((shot) => partId(shot) === link?.dataset.cell);
}
