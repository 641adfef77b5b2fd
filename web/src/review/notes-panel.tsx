/** The notes of a comparison, and those about images that a shot no longer has. */
import type { ShotWithVerdict } from "../changes/verdicts";
import { isSameShot, type ShotKey, variantLabel } from "../gallery/shot-key";
import type { OutdatedNote } from "../lib/types";
import { Time } from "../ui";
import { ReviewLabel } from "./review-label";

interface NotesPanelProps {
  shots: ShotWithVerdict[];
  outdated: OutdatedNote[];
  current: ShotKey;
  show: (shot: ShotKey) => void;
}

export function NotesPanel({ shots, outdated, current, show }: NotesPanelProps) {
  const noted = shots.filter(({ review }) => review.note !== "");
  return (
    <aside class="details" aria-label="Notes">
      <h2>Notes</h2>
      {noted.length === 0 && <p class="quiet">No notes. Reject a change to write one.</p>}
      <ul class="notes">
        {noted.map((shot) => (
          <li key={`${shot.name} ${variantLabel(shot)}`}>
            <button
              type="button"
              class="link-button"
              onClick={() => show(shot)}
              {...(isSameShot(shot, current) ? { "aria-current": "true" as const } : {})}
            >
              {shot.name}
            </button>{" "}
            <span class="quiet">{variantLabel(shot)}</span>
            <p class="review-note">{shot.review.note}</p>
            <ReviewLabel shot={shot} />
          </li>
        ))}
      </ul>
      {outdated.length > 0 && <OutdatedNotes notes={outdated} />}
    </aside>
  );
}

export function OutdatedNotes({ notes }: { notes: OutdatedNote[] }) {
  return (
    <section class="outdated">
      <h2>Outdated notes</h2>
      <p class="quiet small">About images that these screenshots no longer have.</p>
      <ul class="notes">
        {notes.map(({ name, viewport, theme, state, by, at, note }) => (
          <li key={`${name} ${viewport} ${theme} ${at}`}>
            {name} <span class="quiet">{variantLabel({ viewport, theme })}</span>
            <p class="review-note">{note}</p>
            <span class="quiet small">
              Outdated · {state === "approved" ? "Approved" : "Rejected"} by {by} · <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
