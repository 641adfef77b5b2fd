/** The gate of a pull request, and the commit status that follows from it. */
import { isDeepStrictEqual } from "node:util";
import type { Job } from "./ci/job.js";
import { CallError } from "./errors.js";
import { type CommitStatus, type Forge, STATUS_NAME } from "./forges/forge.js";
import type { Gate } from "./replies.js";
import type { Service } from "./service.js";
import { isMessage, message } from "./statements.js";
import { pluralize } from "./wording.js";

const ROUNDS = 10;
const NOT_COMPARED: Gate = { state: "blocked", open: 0, reason: "not_compared" };
const STATES = { passed: "success", waiting: "pending", rejected: "failure", blocked: "pending" } as const;

/** A gate, its commit status, and the compared commit, if any. A run without screenshots has no gate. */
export interface GateReport {
  status: CommitStatus;
  gate?: Gate;
  commitSha: string;
}

/** Asks for the newest report. */
export type Ask = () => Promise<GateReport>;

/** Return the report of a run that takes no screenshots, for this reason. */
export function reportSkip(reason: string, { runUrl }: Job): GateReport {
  const description = message("skipped", { reason });
  return { status: { state: "success", description, url: runUrl }, commitSha: "" };
}

/**
 * Return the gate of the newest comparison, which is blocked without one. Without `needsBaseline`, a gate passes if only the
 * baselines are missing. Throws CallError if the service is too old to report a gate.
 */
export async function reportGate(
  service: Service,
  prNumber: number,
  needsBaseline: boolean,
): Promise<GateReport> {
  const found = await service.comparison(prNumber);
  if (!found) return { status: statusOf(NOT_COMPARED, ""), gate: NOT_COMPARED, commitSha: "" };
  let { gate } = found;
  if (!gate) throw new CallError(message("service_without_gate", { url: service.url }));
  if (gate.reason === "no_baseline" && !needsBaseline) gate = { ...gate, state: "passed" };
  return { status: statusOf(gate, found.dashboardUrl), gate, commitSha: found.commitSha };
}

/** Return whether the status is the commit's. Either SHA may be a prefix of the other. */
export function isAbout({ gate, commitSha: own }: GateReport, asked: string): boolean {
  if (gate?.reason === NOT_COMPARED.reason) return true; // the service doesn't name the newest commit
  return own.startsWith(asked) || asked.startsWith(own);
}

/**
 * Set the commit's status, and return the newest report. Asks for a new report after every change, because somebody may
 * decide in the meantime. A report about another commit changes nothing.
 */
export async function setStatus(
  forge: Forge,
  commitSha: string,
  first: GateReport,
  ask: Ask,
  say: (words: string) => void,
): Promise<GateReport> {
  let report = first;
  let written: CommitStatus | undefined;
  for (let round = 0; round < ROUNDS && isAbout(report, commitSha); round++) {
    if (isDeepStrictEqual(written, report.status)) break;
    await forge.setStatus(commitSha, report.status);
    written = report.status;
    report = await ask();
  }
  const about = { name: STATUS_NAME, commit: commitSha.slice(0, 7), forge: forge.label };
  if (written) say(message("status_set", { ...about, state: written.state }));
  return report;
}

/** Return the gate in one line of plain text. */
function describeGate({ state, open, reason }: Gate): string {
  const name = reason ? `gate_blocked_${reason}` : `gate_${state}`;
  const known = isMessage(name) ? name : "gate_blocked"; // a newer service may have other reasons
  return message(known, { shots: pluralize(open, "screenshot") });
}

/** Return the commit status. A blocked gate never succeeds: it fails or waits. */
function statusOf(gate: Gate, url: string): CommitStatus {
  const state = gate.reason === "failed" ? "failure" : STATES[gate.state];
  return { state, description: describeGate(gate), url };
}
