/** The state of a pull request. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { PullRequest } from "../lib/types";
import { Time } from "../ui";

/** Open or closed, as a word and an icon. */
export function PullState({ pull }: { pull: Pick<PullRequest, "closed_at"> }) {
  const closed = pull.closed_at !== null;
  return (
    <span class={`pull-state ${closed ? "closed" : "open"}`}>
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <circle cx="6" cy="6" r="4.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        {closed && <path d="M2.9 9.1 9.1 2.9" stroke="currentColor" stroke-width="1.5" />}
      </svg>
      {closed ? "Closed" : "Open"}
    </span>
  );
}

/** Why a pull request has no images left. */
export function NoImagesReason({ pull }: { pull: PullRequest }) {
  if (pull.deleted_at !== null)
    return (
      <>
        Deleted by {pull.deleted_by}, <Time at={pull.deleted_at} />
      </>
    );
  if (pull.closed_at === null) return <>All deleted</>;
  return (
    <>
      Deleted when it closed, <Time at={pull.closed_at} />
    </>
  );
}

/** The newest upload when the page opened. Anything newer is marked as new. */
export function useNewSince(lastUploadAt: number | undefined): number {
  const [seen, setSeen] = useState<number | undefined>(lastUploadAt);
  if (seen === undefined && lastUploadAt !== undefined) setSeen(lastUploadAt);
  return seen ?? lastUploadAt ?? Number.POSITIVE_INFINITY;
}

/** Tells screen readers what changed when the page updates itself. */
export function Announcement({ words }: { words: string }) {
  const first = useRef(true);
  const [announced, setAnnounced] = useState("");
  useEffect(() => {
    if (!first.current) setAnnounced(words);
    if (words !== "") first.current = false;
  }, [words]);
  return (
    <p class="hidden" role="status">
      {announced}
    </p>
  );
}
