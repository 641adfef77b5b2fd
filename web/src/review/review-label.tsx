/** The states of a review and of the gate: an icon and words. */
import type { Decided } from "../changes/groups";
import type { ShotWithVerdict } from "../changes/verdicts";
import type { Gate } from "../lib/types";
import { BlockedIcon, CheckIcon, CircleIcon, CloseIcon, HistoryIcon, PauseIcon, Time } from "../ui";
import { describeGate, isOpen } from "./reviews";

export function ReviewLabel({ shot }: { shot: ShotWithVerdict }) {
  const { state, by, at } = shot.review;
  if (state === "not_needed" || (state === "open" && !isOpen(shot))) return null;
  return (
    <span class="review-label" data-state={state}>
      {state === "open" && (
        <>
          <CircleIcon /> Open
        </>
      )}
      {state === "approved" && <CheckIcon />}
      {state === "rejected" && <CloseIcon />}
      {(state === "approved" || state === "rejected") && (
        <span>
          {state === "approved" ? "Approved" : "Rejected"}
          {by && ` by ${by}`}
          {at !== null && (
            <>
              {" · "}
              <Time at={at} />
            </>
          )}
        </span>
      )}
      {state === "seen_before" && (
        <>
          <HistoryIcon /> Alternates as before
        </>
      )}
      {state === "quarantined" && (
        <>
          <PauseIcon /> In quarantine
        </>
      )}
    </span>
  );
}

/** What is decided about a group. */
export function GroupLabel({ decided: { state, words } }: { decided: Decided }) {
  return (
    <span class="review-label" data-state={state}>
      {state === "approved" ? <CheckIcon /> : <CloseIcon />} {words}
    </span>
  );
}

const GATE_ICONS = { passed: CheckIcon, waiting: CircleIcon, rejected: CloseIcon, blocked: BlockedIcon };

/** Whether the pull request passes its review. */
export function GateLabel({ gate }: { gate: Gate }) {
  const Icon = GATE_ICONS[gate.state];
  return (
    <span class="gate" data-state={gate.state} title="The prshots check">
      <Icon /> {describeGate(gate)}
    </span>
  );
}
