/** The gate of a pull request, and the commit statuses to post. */
import { isDeepStrictEqual } from "node:util";
import type { Job } from "./ci/job.js";
import type { Forge } from "./forges/forge.js";
import { type Gate, type GateStatus, type PullGate, STATUS_NAME } from "./replies.js";
import { isMessage, message } from "./statements.js";
import { pluralize } from "./wording.js";

const ROUNDS = 10;
const NOT_COMPARED = "not_compared";

/** Asks for the newest gate. */
export type Ask = () => Promise<PullGate>;

/** Return the gate of a commit without a pull request, whose run takes no screenshots. */
export function skipCommit(commitSha: string, reason: string): PullGate {
  const status: GateStatus = {
    context: STATUS_NAME,
    state: "success",
    description: message("skipped", { reason }),
  };
  return { state: "passed", open: 0, reason: "", statuses: [status], commitSha, dashboardUrl: "" };
}

/** Return whether the gate is the commit's. The gate doesn't name a newest commit that isn't compared. */
export function isAbout({ reason, commitSha }: PullGate, asked: string): boolean {
  const [own, other] = [commitSha.toLowerCase(), asked.toLowerCase()];
  return reason === NOT_COMPARED || own.startsWith(other) || other.startsWith(own);
}

/** Return the gate as a line for people, and a line for each status if there are several. */
export function describe(gate: PullGate): string[] {
  const { state, statuses } = gate;
  const [status, ...others] = statuses;
  if (status && !others.length) return [message("gate_line", { state, words: status.description })];
  const lines = statuses.map((each) =>
    message("status_line", { name: each.context, state: each.state, words: each.description }),
  );
  return [message("gate_line", { state, words: describeGate(gate) }), ...lines];
}

/**
 * Set the commit's statuses. Return the newest gate, and whether statuses were set. Asks again after every change, because
 * somebody may decide in the meantime, or another project may post. A gate of another commit changes nothing.
 */
export async function setStatuses(
  forge: Forge,
  { runUrl }: Pick<Job, "runUrl">,
  commitSha: string,
  first: PullGate,
  ask: Ask,
  say: (words: string) => void,
): Promise<{ gate: PullGate; isSet: boolean }> {
  let gate = first;
  const written = new Map<string, GateStatus>();
  for (let round = 0; round < ROUNDS && isAbout(gate, commitSha); round++) {
    const changed = gate.statuses.filter((each) => !isDeepStrictEqual(each, written.get(each.context)));
    if (!changed.length) break;
    const url = gate.dashboardUrl || runUrl;
    for (const each of changed) {
      await forge.setStatus(commitSha, { ...each, url });
      written.set(each.context, each);
    }
    gate = await ask();
  }
  const about = { commit: commitSha.slice(0, 7), forge: forge.label };
  for (const { context: name, state } of written.values())
    say(message("status_set", { name, state, ...about }));
  return { gate, isSet: written.size > 0 };
}

/** Return the gate in one line of plain text. */
function describeGate({ state, open, reason }: Gate): string {
  const name = reason ? `gate_blocked_${reason}` : `gate_${state}`;
  const known = isMessage(name) ? name : "gate_blocked"; // a newer service may have other reasons
  return message(known, { shots: pluralize(open, "screenshot") });
}
