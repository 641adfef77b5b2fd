/** The tab that shows what the pull request changed. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { NoMatch } from "../gallery/all-shots";
import { GallerySkeleton } from "../gallery/gallery";
import {
  filterOptions,
  filterParameters,
  filterShots,
  isUnfiltered,
  type ShotFilter,
} from "../gallery/shot-filter";
import { isSameShot } from "../gallery/shot-key";
import { Toolbar } from "../gallery/toolbar";
import { useShotFilter } from "../gallery/use-shot-filter";
import { compareCommand } from "../lib/commands";
import { capitalize, describeRetry, formatCount, formatNumber, shortSha } from "../lib/format";
import type { Live } from "../lib/live";
import { Link, useLocation } from "../lib/router";
import type { Comparison, LatestComparison, PullRequest } from "../lib/types";
import { useCloseViewer } from "../lightbox/use-close-viewer";
import { type ChangesUrls, type OpenShot, openShotFrom, type PullUrls, pageHref } from "../pull/urls";
import { OutdatedNotes } from "../review/notes-panel";
import { ReviewBar } from "../review/review-bar";
import { usePageReview } from "../review/use-page-review";
import { type ReviewDesk, useReviewDesk } from "../review/use-review-desk";
import { Command, Empty, Failed, Mono } from "../ui";
import { arePairs, describeDone, describeState } from "./descriptions";
import { sortByGroup, toSections } from "./groups";
import { PairSheet } from "./pair-sheet";
import { PairViewer } from "./pair-viewer";
import { partId, toParts, toShots } from "./parts";
import {
  type Counts,
  countChanges,
  countShots,
  filterByVerdict,
  keepOrder,
  listCounts,
  type ShotWithVerdict,
} from "./verdicts";

interface ChangesProps {
  urls: PullUrls;
  prNumber: number;
  pull: PullRequest | undefined;
  latest: Live<LatestComparison>;
  onHelp: () => void;
  /** Whether the user’s role allows decisions. */
  canDecide: boolean;
}

export function Changes({ urls, prNumber, pull, latest, onHelp, canDecide }: ChangesProps) {
  const { data, error, refresh } = latest;
  if (!data) return error ? <Failed error={error} retry={refresh} /> : <GallerySkeleton />;
  if (!data.comparison) return <NotComparedYet {...{ prNumber, pull }} />;
  return (
    <ReviewedChanges comparison={data.comparison} {...{ urls, prNumber, pull, onHelp, canDecide, refresh }} />
  );
}

type ReviewedChangesProps = Omit<ComparedChangesProps, "desk"> & Pick<ChangesProps, "urls" | "canDecide">;

function ReviewedChanges({ canDecide, ...props }: ReviewedChangesProps) {
  const desk = useReviewDesk(props.urls, props.comparison, props.refresh, canDecide);
  return <ComparedChanges {...props} desk={desk} />;
}

function NotComparedYet({ prNumber, pull }: Pick<ChangesProps, "prNumber" | "pull">) {
  return (
    <Empty title="Not compared yet">
      <p>
        This pull request hasn’t been compared with its base. <code>prshots upload</code> compares it, or run:
      </p>
      {pull && <Command command={compareCommand(prNumber, pull.last_commit)} />}
    </Empty>
  );
}

interface ComparedChangesProps extends Pick<ChangesProps, "prNumber" | "pull" | "onHelp"> {
  urls: ChangesUrls;
  comparison: Comparison;
  desk: ReviewDesk;
  refresh: () => Promise<void>;
}

/** The changes of a comparison, in the dashboard or behind a share link. */
export function ComparedChanges(props: ComparedChangesProps) {
  const { urls, prNumber, pull, comparison, desk, onHelp, refresh } = props;
  const { query } = useLocation();
  const filterInput = useShotFilter(urls, "changes");
  const { filter } = filterInput;
  const { branch, counts, groups, gate, blocked, outdated_notes } = comparison;
  const all = desk.shots;
  const inVerdict = useMemo(() => filterByVerdict(all, filter.verdict), [all, filter.verdict]);
  const sorted = useMemo(() => sortByGroup(inVerdict.flatMap(toParts), groups), [inVerdict, groups]);
  const inOrder = useStableOrder(
    filterShots(sorted, filter, (shot) => shot),
    `${comparison.commit_sha} ${new URLSearchParams(filterParameters(filter))}`,
  );
  const [isWhole, setWhole] = useState(false);
  const sections = toSections(inOrder, groups);
  const found = sections.flatMap((section) => section.shots);
  const foundShots = toShots(found, all);
  const openShot = openShotFrom(query);
  const close = useCloseViewer(urls, "changes", filter, openShot);
  const { actions, dialog } = usePageReview(desk, found, urls, filter);
  const group = query.get("group");
  const isGone = group !== null && isUnfiltered(filter) && !sections.some(({ id }) => id === group);
  return (
    <>
      <div class="base">
        <ComparisonStatus {...{ urls, comparison, prNumber, pull }} />
        {isGone && comparison.state !== "running" && (
          <p class="base-state" data-state="newer" role="status">
            <strong>No such group</strong> The newest screenshots no longer have this change, or it looks
            different now.
          </p>
        )}
        <ComparedWith comparison={comparison} />
        {all.length > 0 && <VerdictFilter {...{ urls, filter, counts }} />}
      </div>
      {all.length > 0 && (
        <>
          <Toolbar
            {...{ urls, filterInput, ...filterOptions(all) }}
            tab="changes"
            found={foundShots.length}
            total={inVerdict.length}
          >
            {all.some(({ closeups }) => closeups.length > 0) && (
              <button
                type="button"
                class="button plain"
                aria-pressed={isWhole}
                onClick={() => setWhole(!isWhole)}
              >
                Whole pages
              </button>
            )}
          </Toolbar>
          <PairSheet {...{ sections, branch, urls, filter, group, isWhole, actions }} />
          {found.length === 0 && <NoChanges {...{ urls, filter, comparison }} />}
          {outdated_notes.length > 0 && <OutdatedNotes notes={outdated_notes} />}
          <ReviewBar {...{ desk, gate, blocked, actions }} inView={found} />
          {dialog}
        </>
      )}
      {openShot && (
        <PairViewer
          {...{ openShot, comparison, desk, urls, filter, refresh, onHelp }}
          order={orderOf(openShot, foundShots, all)}
          onClose={close}
        />
      )}
    </>
  );
}

/** Keeps shots in place when a verdict arrives. Another commit or filter resets the order. */
function useStableOrder(shots: ShotWithVerdict[], view: string): ShotWithVerdict[] {
  const last = useRef({ view, ids: [] as string[] });
  const ordered = keepOrder(shots, last.current.view === view ? last.current.ids : []);
  useEffect(() => {
    last.current = { view, ids: ordered.map(partId) };
  });
  return ordered;
}

/** The shots on the page, or all shots if the filter hides the open one. */
function orderOf({ shotKey }: OpenShot, found: ShotWithVerdict[], all: ShotWithVerdict[]): ShotWithVerdict[] {
  const includes = (shots: ShotWithVerdict[]) => shots.some((shot) => isSameShot(shot, shotKey));
  return includes(found) || !includes(all) ? found : all;
}

/** Says which commits were compared, and on which side each is. */
function ComparedWith({ comparison }: { comparison: Comparison }) {
  const { commit_sha, branch, base_commit, counts } = comparison;
  if (arePairs(comparison))
    return <p class="base-line">Before on the left, after on the right, uploaded together</p>;
  if (base_commit === null) return null;
  return (
    <p class="base-line">
      <Mono>{branch}</Mono> at <Sha sha={base_commit} /> on the left, commit <Sha sha={commit_sha} /> with{" "}
      {formatCount(countShots(counts) - (counts.removed ?? 0), "screenshot")} on the right
    </p>
  );
}

/** Says why the gate is blocked, if it is, and what to do. */
function ComparisonStatus({
  urls,
  comparison,
  prNumber,
  pull,
}: Pick<ComparedChangesProps, "urls" | "comparison" | "prNumber" | "pull">) {
  const ran = useRef(false);
  ran.current ||= comparison.state === "running";
  const words = describeState(comparison, prNumber) ?? (ran.current ? describeDone(comparison) : null);
  const canRun = urls.projectId !== null; // behind a share link, nobody can run a command
  return (
    <>
      {comparison.unreadable && (
        <p class="base-state" data-state="failed" role="status">
          {comparison.unreadable}
        </p>
      )}
      {words && (
        <div class="base-state" data-state={comparison.state} role="status">
          <p>
            <strong>{words.title}</strong> {(canRun || !words.command) && words.text}
          </p>
          {canRun && words.command && <Command command={words.command} />}
        </div>
      )}
      {comparison.outbox.map(({ kind, error, next_at }) => (
        <p key={kind} class="base-state" data-state="failed" role="status">
          <strong>The {kind} was not sent</strong> {error}. {describeRetry(next_at)}
        </p>
      ))}
      {comparison.gate.reason === "not_compared" && (
        <p class="base-state" data-state="not_compared" role="status">
          <strong>Not the newest commit</strong> The screenshots of{" "}
          {pull ? <Sha sha={pull.last_commit} /> : "the newest commit"} are not compared yet. Wait for the
          job, or run it again.
        </p>
      )}
    </>
  );
}

const Sha = ({ sha }: { sha: string }) => <Mono title={sha}>{shortSha(sha)}</Mono>;

interface VerdictFilterProps {
  urls: ChangesUrls;
  filter: ShotFilter;
  counts: Counts;
}

/** Filters by verdict. Without a filter, everything but unchanged shots is shown. */
function VerdictFilter({ urls, filter, counts }: VerdictFilterProps) {
  const options = [
    { id: "", label: "All changes", count: countChanges(counts) },
    ...listCounts(counts).map(([id, count]) => ({ id, label: capitalize(id), count })),
  ];
  return (
    <nav class="verdicts" aria-label="Verdict">
      {options.map(({ id, label, count }) => (
        <Link
          key={id}
          class="verdict-filter"
          href={pageHref(urls, { tab: "changes", filter: { ...filter, verdict: id } })}
          replace
          {...(id === filter.verdict ? { "aria-current": "true" as const } : {})}
        >
          {label} <span class="count">{formatNumber(count)}</span>
        </Link>
      ))}
    </nav>
  );
}

function NoChanges({
  urls,
  filter,
  comparison,
}: {
  urls: ChangesUrls;
  filter: ShotFilter;
  comparison: Comparison;
}) {
  if (!isUnfiltered(filter)) return <NoMatch urls={urls} filter={filter} tab="changes" />;
  if (comparison.state !== "compared") return null;
  const same = formatCount(countShots(comparison.counts), "screenshot");
  return (
    <Empty title="No changes">
      <p>
        {same} compared with {arePairs(comparison) ? "their own before images" : comparison.branch}: nothing
        changed.
      </p>
      {urls.projectId && (
        <Link class="button plain" href={pageHref(urls, { tab: "all" })}>
          Show all screenshots
        </Link>
      )}
    </Empty>
  );
}
