/** What the service replies. */
import * as validate from "./ci/validate.js";
import type { Title } from "./shot_names.js";

export type Json = Record<string, unknown>;

const MAX_DEPTH = 50;

const STATES = ["compared", "no_baseline", "incomplete", "failed", "running"] as const;
export type State = (typeof STATES)[number];

export const VERDICTS = ["changed", "moved", "new", "removed", "failed", "unchanged"] as const;
export type Verdict = (typeof VERDICTS)[number];

const GATE_STATES = ["passed", "waiting", "rejected", "blocked"] as const;

/** Whether the pull request may be merged as far as its screenshots are concerned. */
export interface Gate {
  state: (typeof GATE_STATES)[number];
  /** How many shots need a decision. */
  open: number;
  /** Why it is blocked. Otherwise empty. */
  reason: string;
}

/** The name that a required check has in a repository's settings. */
export const STATUS_NAME = "prshots";

const COMMIT_STATES = ["success", "pending", "failure"] as const;
export type CommitState = (typeof COMMIT_STATES)[number];

/** A commit status to post: `prshots` for the pull request, `prshots/<project>` for a project of several. */
export interface GateStatus {
  context: string;
  state: CommitState;
  description: string;
}

/** The gate with the commit that it is about. */
export interface PullGate extends Gate {
  /** The statuses to post on the commit, and no others. */
  statuses: GateStatus[];
  /** Empty if no commit was compared. */
  commitSha: string;
  dashboardUrl: string;
}

export interface ComparedShot {
  name: string;
  viewport: string;
  theme: string;
  verdict: Verdict;
  pixels: number;
  /** How many rows were inserted; negative if they were removed. */
  shift: number;
  /** False if the base may come from other work. */
  ancestor: boolean;
  /** It was compared with the before image that was uploaded with it. */
  isPair: boolean;
  reason: string;
  /** The state of the decision about it, such as `approved`. */
  review: string;
}

export interface Comparison {
  state: State;
  branch: string;
  commitSha: string;
  baseCommit: string;
  counts: Record<string, number>;
  /** How many shots were compared with the before image that was uploaded with them. */
  pairs: number;
  shots: ComparedShot[];
  dashboardUrl: string;
  /** The service's reply. */
  json: Json;
}

/** The service's reply to an upload. */
export interface Uploaded {
  id: string;
  viewUrl: string;
  markdown: string;
}

/** How many staged images are the pull request's now, how many stay staged, and why. */
export interface Moved {
  moved: number;
  kept: number;
  reason: string;
}

export interface CommentText {
  markdown: string;
  heading: string;
  /** How many screenshots the pull request has. */
  count: number;
  /** How many of them have only a line. */
  listed: number;
  /** How many of them are left out. */
  omitted: number;
  /** How many other projects of the repository take part in the pull request. */
  siblings: number;
}

/** A shot's name and the hash of its file. */
export interface HashedShot extends Title {
  sha256: string;
}

export interface Expired {
  prNumber: number;
  policy: string;
  marked: number;
  expired: number;
  /** How many images of a merged pull request became baselines. */
  baselines: number;
}

export function isState(value: unknown): value is State {
  return STATES.some((state) => state === value);
}

/** Return whether a value has a count for each verdict that it names. */
export function isCounts(value: unknown): value is Record<string, number> {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([name, count]) => isVerdict(name) && Number.isSafeInteger(count));
}

function isVerdict(value: unknown): value is Verdict {
  return VERDICTS.some((verdict) => verdict === value);
}

/** Return a shot's result; nothing if the value is something else. */
export function comparedShot(value: Json): ComparedShot | undefined {
  if (!isVerdict(value?.verdict)) return undefined;
  return {
    name: String(value.name),
    viewport: String(value.viewport),
    theme: String(value.theme),
    verdict: value.verdict,
    pixels: Number(value.pixels ?? 0),
    shift: Number(value.shift ?? 0),
    ancestor: value.ancestor !== false,
    isPair: value.pair !== undefined && value.pair !== null,
    reason: String(value.reason ?? ""),
    review: String((value.review as Json | null | undefined)?.state ?? "not_needed"),
  };
}

/** Return the gate with our own statuses; nothing if the value is something else. */
export function gateIn({
  state,
  open,
  reason,
  statuses,
  commit_sha,
  dashboard_url,
}: Json): PullGate | undefined {
  const known = GATE_STATES.find((each) => each === state);
  const found = Array.isArray(statuses) ? statuses.map(gateStatus) : [];
  if (!known || !found.length || !found.every((each) => each !== undefined)) return undefined;
  return {
    state: known,
    open: Number(open ?? 0),
    reason: String(reason ?? ""),
    statuses: found,
    commitSha: String(commit_sha ?? ""),
    dashboardUrl: validate.address(dashboard_url),
  };
}

function gateStatus(value: Json | null): GateStatus | undefined {
  const { context, state, description } = value ?? {};
  const known = COMMIT_STATES.find((each) => each === state);
  if (!known || String(context).split("/")[0] !== STATUS_NAME) return undefined;
  return { context: String(context), state: known, description: String(description ?? "") };
}

/** Return the JSON object in a text; undefined if it is something else, or nested too deeply to print. */
export function objectIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isOne = typeof value === "object" && value !== null && !Array.isArray(value);
    return isOne && !isDeeper(value, MAX_DEPTH) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}
