/** What standard output and $GITHUB_OUTPUT get: a table for people, and formats for scripts. */
import { randomBytes } from "node:crypto";
import { CONTRACT } from "../contract.js";
import type { ComparedShot, Comparison } from "../replies.js";
import { readableSize } from "../sizes.js";
import { message } from "../statements.js";
import type { UploadOutcome } from "../upload.js";
import { formatNumber, printable, safeJson, safeMarkdown } from "../wording.js";
import type { CompareResult, UploadResult } from "./types.js";

export const UPLOAD_FORMATS = CONTRACT.options["upload-format"].choices;
export type UploadFormat = (typeof UPLOAD_FORMATS)[number];
export const COMPARE_FORMATS = CONTRACT.options["compare-format"].choices;
export type CompareFormat = (typeof COMPARE_FORMATS)[number];

/** A longer table than this is not printed: it would fill the log. The formats for scripts have every row. */
export const MAX_ROWS = 20;

/** Return lines that end with a line break; empty if there is nothing to print. */
export function uploadText(result: UploadResult, format: UploadFormat): string {
  switch (format) {
    case "json":
      return jsonText(uploadJson(result));
    case "markdown":
      return linesOf(markdownOf(result).map(safeMarkdown));
    case "github-output":
      return linesOf(githubOutput(result));
    default:
      return uploadTable(result);
  }
}

/** Return lines that end with a line break; empty if there is nothing to print. */
export function compareText(
  { comparison }: Pick<CompareResult, "comparison">,
  format: CompareFormat,
): string {
  if (format === "json") return jsonText(comparison?.json ?? null);
  if (!comparison) return "";
  switch (format) {
    case "github-output":
      return linesOf(comparisonOutputs(comparison.dashboardUrl, comparison));
    default:
      return shotTable(comparison.shots);
  }
}

export function jsonText(value: unknown): string {
  return `${safeJson(JSON.stringify(value, undefined, 2))}\n`;
}

function linesOf(lines: string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function markdownOf({ outcomes }: UploadResult): string[] {
  return outcomes.flatMap(({ uploaded }) => (uploaded ? [uploaded.markdown] : []));
}

/** Return lines for the $GITHUB_OUTPUT file. */
function githubOutput(result: UploadResult): string[] {
  // The delimiter is random: a name that contains it could end the block and set another output.
  const end = `end_${randomBytes(16).toString("hex")}`;
  const urls = result.outcomes.flatMap(({ uploaded }) => (uploaded ? [uploaded.viewUrl] : []));
  const block = (name: string, lines: string[]) => [`${name}<<${end}`, ...lines, end];
  return [
    `count=${result.count}`,
    ...comparisonOutputs(result.dashboardUrl, result.comparison),
    ...block("urls", urls),
    ...block("markdown", markdownOf(result)),
  ];
}

function comparisonOutputs(dashboardUrl: string, comparison: Comparison | undefined): string[] {
  const lines = dashboardUrl ? [`dashboard-url=${dashboardUrl}`] : [];
  if (!comparison) return lines;
  const counts = Object.entries(comparison.counts).map(([name, count]) => `${name}=${count}`);
  return [...lines, `comparison=${comparison.state}`, ...counts];
}

function uploadJson(result: UploadResult): Record<string, unknown> {
  const { target, outcomes, problems, isDry, comparison, dashboardUrl } = result;
  const good = outcomes.filter(({ error }) => !error).map(entryOf);
  const failed = [
    ...outcomes.filter(({ error }) => error).map(({ shot, error }) => ({ path: shot.path, error })),
    ...problems.map(({ path, words }) => ({ path, error: words })),
  ];
  const { branch, base_commit, state, counts } = comparison?.json ?? {};
  return {
    pr_number: target.prNumber ?? null,
    commit_sha: target.commitSha,
    count: result.count,
    known: result.known,
    ...(target.baselineOf && { baseline_of: target.baselineOf }),
    ...(isDry ? { uploaded: [], would_upload: good } : { uploaded: good }),
    failed,
    comparison: comparison ? { branch, base_commit, state, counts } : null,
    dashboard_url: dashboardUrl || null,
  };
}

function entryOf({ shot, uploaded, note }: UploadOutcome): Record<string, unknown> {
  const { path, name, viewport, theme } = shot;
  const sent = uploaded && {
    id: uploaded.id,
    view_url: uploaded.viewUrl,
    markdown: uploaded.markdown,
  };
  return { path, name, viewport, ...(theme && { theme }), ...sent, note };
}

/** Return what was uploaded. Failures have their own lines already. */
function uploadTable({ outcomes, isDry }: UploadResult): string {
  const good = outcomes.filter(({ error }) => !error);
  if (good.length > MAX_ROWS) return "";
  const done = ({ isKnown }: UploadOutcome) =>
    message(isDry ? "result_would_be_uploaded" : isKnown ? "result_already_there" : "result_uploaded");
  return tableOf(
    good.map((outcome) => ({
      ...namesOf(outcome.shot),
      SIZE: readableSize(outcome.shot.size),
      RESULT: done(outcome) + (outcome.note && `; ${outcome.note}`),
    })),
  );
}

/** Return the verdicts, without failures, which have their lines already. Of many shots, only the changes. */
function shotTable(shots: ComparedShot[]): string {
  const compared = shots.filter(({ verdict }) => verdict !== "failed");
  const changes = compared.filter(({ verdict }) => verdict !== "unchanged");
  const shown = compared.length <= MAX_ROWS ? compared : changes;
  if (shown.length > MAX_ROWS) return "";
  return tableOf(
    shown.map((shot) => ({
      ...namesOf(shot),
      VERDICT: verdictOf(shot),
      PIXELS: pixelsOf(shot),
    })),
  );
}

function pixelsOf({ verdict, pixels, shift }: ComparedShot): string {
  if (verdict === "changed") return formatNumber(pixels);
  if (verdict === "moved")
    return message(shift < 0 ? "rows_removed" : "rows_inserted", { rows: formatNumber(Math.abs(shift)) });
  return "-";
}

function namesOf({ name, viewport, theme }: { name: string; viewport: string; theme: string }) {
  return { NAME: name, VIEWPORT: viewport, THEME: theme };
}

/** Return aligned columns. They are never cut or wrapped, so that grep and awk work. Without themes, no THEME. */
function tableOf(rows: Record<string, string>[]): string {
  const [first] = rows;
  if (!first) return "";
  const isThemed = rows.some(({ THEME }) => THEME);
  const columns = Object.keys(first).filter((column) => column !== "THEME" || isThemed);
  const cells = [columns, ...rows.map((row) => columns.map((column) => printable(row[column] || "-")))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => lengthOf(row[index]))));
  return linesOf(
    cells.map((row) =>
      row
        .map((cell, index) => pad(cell, widths[index]))
        .join("  ")
        .trimEnd(),
    ),
  );
}

function lengthOf(text = ""): number {
  return Array.from(text).length;
}

function pad(text: string, width = 0): string {
  return text + " ".repeat(width - lengthOf(text));
}

function verdictOf({ verdict, isPair, ancestor }: ComparedShot): string {
  if (isPair) return message("verdict_of_pair", { verdict });
  return ancestor ? verdict : message("verdict_since_newest", { verdict });
}
