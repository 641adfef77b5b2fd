/** The bar below the changes and below an open change: what is left, and the buttons that decide. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ShotWithVerdict } from "../changes/verdicts";
import { shotId } from "../gallery/shot-key";
import { formatCount, formatNumber } from "../lib/format";
import type { Gate } from "../lib/types";
import { BlockedIcon, Button, Menu, MoreIcon } from "../ui";
import { describeCheck } from "./check";
import { ReviewLabel } from "./review-label";
import {
  countReviews,
  describeLeft,
  isDecidable,
  isOpen,
  type Note,
  openInGroup,
  rejectableInGroup,
} from "./reviews";
import type { ReviewDesk } from "./use-review-desk";

/** What the buttons and keys of a review do. */
export interface ReviewActions {
  approve(shots: ShotWithVerdict[]): void;
  /** Opens the note. */
  startRejection(shot: ShotWithVerdict): void;
  /** Asks for one note about all of them. */
  startGroupRejection(shots: ShotWithVerdict[]): void;
  undo(): void;
}

interface Props {
  desk: ReviewDesk;
  gate: Gate;
  /** Why the gate is blocked, regardless of what is left to decide. Empty if it isn’t. */
  blocked: string;
  /** The parts on the page. */
  inView: ShotWithVerdict[];
  /** null for people who can’t decide. */
  actions: ReviewActions | null;
}

/** Below the page. */
export function ReviewBar({ desk, gate, blocked, inView, actions }: Props) {
  const open = inView.filter(isOpen);
  const words = describeLeft(gate, countReviews(desk.shots));
  if (!words && !blocked && !desk.undo) return null;
  const isAll = open.length === countReviews(desk.shots).open;
  return (
    <section class="review-bar on-page" aria-label="Review" tabIndex={-1}>
      <Left {...{ desk, gate, blocked }} />
      <Problem desk={desk} />
      {actions && (
        <Buttons>
          <UndoButton desk={desk} actions={actions} />
          {open.length > 1 && (
            <Button kind="primary" onClick={once(() => actions.approve(open))}>
              {isAll
                ? `Approve all ${formatNumber(open.length)} open`
                : `Approve ${formatNumber(open.length)} shown`}
            </Button>
          )}
        </Buttons>
      )}
    </section>
  );
}

interface ShotReviewBarProps extends Props {
  shot: ShotWithVerdict | undefined;
  /** Records the rejection with its note. */
  reject: () => void;
  onQuarantine: () => void;
}

/** Below an open change. */
export function ShotReviewBar(props: ShotReviewBarProps) {
  const { desk, gate, blocked, inView, shot, actions, reject, onQuarantine } = props;
  const draft = shot && desk.draftOf(shot);
  const group = shot ? openInGroup(inView, shot) : [];
  const rejectable = shot ? rejectableInGroup(inView, shot) : [];
  if (!shot) return <section class="review-bar" aria-label="Review" />;
  return (
    <section class="review-bar" aria-label="Review">
      {draft ? (
        <NoteForm
          key={shotId(shot)}
          draft={draft}
          hasPicture={shot.after !== null}
          problem={desk.problem?.message}
          change={(next) => desk.setDraft(shot, next)}
          send={reject}
        />
      ) : (
        <>
          <Left {...{ desk, gate, blocked }} />
          <p class="review-about">
            <ReviewLabel shot={shot} /> {shot.review.note && <q class="review-note">{shot.review.note}</q>}
          </p>
          <Problem desk={desk} />
          {actions && (
            <Buttons>
              <UndoButton desk={desk} actions={actions} />
              {shot.review.state !== "quarantined" && (
                <Menu button={<MoreIcon />} label="More actions">
                  {rejectable.length > 1 && (
                    <li>
                      <button type="button" onClick={() => actions.startGroupRejection(rejectable)}>
                        Reject {formatCount(rejectable.length, "screenshot")}…
                      </button>
                    </li>
                  )}
                  <li>
                    <button type="button" onClick={onQuarantine}>
                      Quarantine…
                    </button>
                  </li>
                </Menu>
              )}
              {group.length > 1 && (
                <Button title="Approve the group (G)" onClick={once(() => actions.approve(group))}>
                  Approve {formatCount(group.length, "screenshot")}
                </Button>
              )}
              <DecideButtons shot={shot} actions={actions} kind="primary" />
            </Buttons>
          )}
        </>
      )}
    </section>
  );
}

const Buttons = ({ children }: { children: ComponentChildren }) => (
  <span class="review-buttons">{children}</span>
);

/** The second click of a double click would hit a button of the next change. */
const once = (act: () => void) => (event: MouseEvent) => {
  if (event.detail < 2) act();
};

/** Small and quiet if no decision is needed, or if there is one. */
export function DecideButtons({
  shot,
  actions,
  kind = "plain",
}: {
  shot: ShotWithVerdict;
  actions: ReviewActions;
  kind?: "plain" | "primary";
}) {
  if (!isDecidable(shot)) return null;
  const { state } = shot.review;
  const look = isOpen(shot) ? "button plain" : "link-button";
  const of = <span class="hidden"> {shot.name}</span>;
  return (
    <>
      {state !== "rejected" && (
        <button
          type="button"
          class={look}
          title="Reject (R)"
          onClick={once(() => actions.startRejection(shot))}
        >
          Reject{of}
        </button>
      )}
      {state !== "approved" && (
        <button
          type="button"
          class={look.replace("plain", kind)}
          title="Approve (A)"
          onClick={once(() => actions.approve([shot]))}
        >
          Approve{of}
        </button>
      )}
    </>
  );
}

function Left({ desk, gate, blocked }: Pick<Props, "desk" | "gate" | "blocked">) {
  const counts = countReviews(desk.shots);
  const isDone = gate.state === "passed" && counts.total > 0 && counts.open + counts.rejected === 0;
  return (
    <p class="review-left" role="status">
      {blocked && (
        <span class="gate" data-state="blocked">
          <BlockedIcon /> {blocked}
        </span>
      )}
      {counts.total > 0 && <meter aria-hidden="true" max={counts.total} value={counts.total - counts.open} />}
      {describeLeft(gate, counts)}
      {isDone && desk.check && ` ${describeCheck(desk.check)}`}
      {!desk.canDecide && <span class="quiet"> Only reviewers can decide.</span>}
    </p>
  );
}

function Problem({ desk: { problem } }: Pick<Props, "desk">) {
  if (!problem) return null;
  return (
    <p class="review-problem" role="alert">
      {problem.message}{" "}
      {problem.retry && (
        <button type="button" class="link-button" onClick={problem.retry}>
          Try again
        </button>
      )}
    </p>
  );
}

function UndoButton({ desk, actions }: { desk: ReviewDesk; actions: ReviewActions }) {
  if (!desk.undo) return null;
  return (
    <Button title="Undo (U)" onClick={once(actions.undo)}>
      Undo
    </Button>
  );
}

interface NoteFormProps {
  draft: Note;
  /** Whether there is an image to put a pin on. */
  hasPicture: boolean;
  problem: string | undefined;
  change: (draft: Note | undefined) => void;
  send: () => void;
}

/** Asks what is wrong with a change. The draft stays until it is recorded or canceled. */
export function NoteForm({ draft, hasPicture, problem, change, send }: NoteFormProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault(); // the viewer stays open
      change(undefined);
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form
      class="note-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label>
        <span>What is wrong? (optional)</span>
        <textarea
          ref={field}
          rows={2}
          maxLength={2000}
          value={draft.note}
          onKeyDown={onKeyDown}
          onInput={({ currentTarget }) => change({ ...draft, note: currentTarget.value })}
        />
      </label>
      <p class="hint">
        {!hasPicture && "Enter sends, Shift+Enter starts a new line."}
        {hasPicture && !draft.pin && "Click a point in the after image to place a pin (optional)."}
        {draft.pin && (
          <>
            Pin placed. Click elsewhere to move it.{" "}
            <button type="button" class="link-button" onClick={() => change({ ...draft, pin: null })}>
              Remove pin
            </button>
          </>
        )}
      </p>
      {problem && (
        <p class="review-problem" role="alert">
          {problem}
        </p>
      )}
      <Buttons>
        <Button onClick={() => change(undefined)}>Cancel</Button>
        <Button type="submit" kind="primary">
          Reject
        </Button>
      </Buttons>
    </form>
  );
}
