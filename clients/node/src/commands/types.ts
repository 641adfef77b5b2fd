/**
 * What the commands take and return. The CLI and the GitHub Action call them.
 *
 * A command prints nothing and never exits. It says what happens in sentences (`say`), returns the result, and throws
 * PrshotsError. An option that is missing or empty comes from the environment (PRSHOTS_URL, …), then from the CI.
 */
import type { Environ, ForgeKind, Job } from "../ci/job.js";
import type { Comparison, PullGate } from "../replies.js";
import type { View } from "../service.js";
import type { Problem } from "../shots.js";
import type { Posted } from "../sticky_comment.js";
import type { Target } from "../target.js";
import type { UploadOutcome } from "../upload.js";

export interface Context {
  environ: Environ;
  /** The job, if it is known; default what the environment says. */
  job?: Job;
  /** Gets each message for the user: a sentence, which may start with "Warning: " or "Note: ". */
  say(words: string): void;
  /** Gets failures, even with --quiet; default `say`. */
  fail?(words: string): void;
  /** When the command must end, as a Unix time in seconds; default never. */
  deadline?: number;
  /** Stops the command. */
  stopped: AbortSignal;
}

export interface ServiceOptions {
  url?: string;
  token?: string;
  project?: string;
}

/** Only for commands that post. */
export interface ForgeOptions {
  forge?: ForgeKind;
  forgeUrl?: string;
  repository?: string;
  forgeToken?: string;
}

export interface UploadOptions extends ServiceOptions {
  /** Files, folders or globs. */
  paths: string[];
  pr?: number;
  commit?: string;
  branch?: string;
  name?: string;
  base?: string;
  viewport?: string;
  theme?: string;
  baseline?: boolean;
  /** Compare with the base; default true. */
  compare?: boolean;
  partial?: boolean;
  /** How many uploads run at a time; default 8. */
  jobs?: number;
  shrink?: boolean;
  dryRun?: boolean;
  allowEmpty?: boolean;
}

export interface UploadResult {
  /** A pull request or the baselines of a branch. In a dry run, either may be unknown. */
  target: Target;
  outcomes: UploadOutcome[];
  /** Files and paths that aren't usable screenshots. */
  problems: Problem[];
  isDry: boolean;
  comparison?: Comparison;
  dashboardUrl: string;
  /** How many screenshots the service has now. */
  count: number;
  /** How many of them it had already, so that only their hashes were sent. */
  known: number;
  /** 0 all uploaded, 1 none, 3 some. */
  exitCode: 0 | 1 | 3;
}

export interface CompareOptions extends ServiceOptions {
  pr?: number;
  commit?: string;
  branch?: string;
  /** All screenshots of the commit are uploaded, so a missing one was removed. */
  complete?: boolean;
  /** Verdicts, comma-separated. */
  failOn?: string;
  /** `failOn` ignores shots that are approved or quarantined, or that alternate on the base branch. */
  approvedPass?: boolean;
}

export interface CompareResult {
  /** Undefined in a job that uploads baselines. */
  comparison?: Comparison;
  dashboardUrl: string;
  /** How many shots have a verdict of `failOn`. */
  gated: number;
  /** 0 compared, 4 if shots have a verdict of `failOn`. A failed comparison is thrown: ComparisonFailedError. */
  exitCode: 0 | 4;
}

export interface CommentOptions extends ServiceOptions, ForgeOptions {
  pr?: number;
  /** Create or update the comment. Otherwise only return its markdown. */
  post?: boolean;
  /** A file with a text to put around the screenshots. */
  template?: string;
  /** What to show; default changes if there is a comparison, otherwise latest. */
  view?: View;
}

export interface CommentResult {
  /** Without `post`: the comment. Empty in a job without a pull request. */
  markdown: string;
  /** With `post`: what was done, and the comment's address. */
  posted?: Posted;
  dashboardUrl: string;
}

export interface GateOptions extends ServiceOptions, ForgeOptions {
  pr?: number;
  commit?: string;
  /** Exit with 4 unless the gate has passed. */
  fail?: boolean;
  /** Why this run takes no screenshots. The project then passes. */
  skip?: string;
  /** What to do while the base branch has no baselines. Default: block. */
  noBaseline?: "block" | "pass";
}

export interface GateResult {
  /** Undefined in a job without a pull request. */
  gate?: PullGate;
  /** The gate, and the statuses if there are several. Empty in a job without a pull request. */
  lines: string[];
  dashboardUrl: string;
  /** As `prshots gate --json` prints it. */
  json: Record<string, unknown> | null;
  exitCode: 0 | 4;
}

export interface ExpireOptions extends ServiceOptions, ForgeOptions {
  pr?: number;
  /** Also update the comment. */
  post?: boolean;
  /** The commit that the pull request was merged as; default from the job's event. */
  mergedAs?: string;
  branch?: string;
}

export interface ExpireResult {
  /** As `prshots expire --json` prints it. */
  json: Record<string, unknown>;
  /** With `post`: what was done with the comment. */
  posted?: Posted;
}
