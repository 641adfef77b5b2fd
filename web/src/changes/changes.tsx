/** The tab that shows what the pull request changed. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { NoMatch } from "../gallery/all-shots";
import { placeKey, samePlace } from "../gallery/arrange";
import { GallerySkeleton } from "../gallery/gallery";
import { asParameters, choices, find, isEverything, type Wanted } from "../gallery/shot-filter";
import { Toolbar } from "../gallery/toolbar";
import { useWanting } from "../gallery/use-shot-filter";
import { capitalized, formatCount, formatNumber, shortSha } from "../lib/format";
import type { Live } from "../lib/live";
import { Link, useLocation } from "../lib/router";
import type { Comparison, LatestComparison, PullRequest } from "../lib/types";
import { useClosing } from "../lightbox/use-close-viewer";
import { type Opened, openedAt, type PullAddresses, pageHref } from "../pull/urls";
import { Empty, Failed, Mono, RunThis } from "../ui";
import { arePairs, doneWords, stateWords } from "./descriptions";
import { Sheet } from "./pair-sheet";
import { PairViewer } from "./pair-viewer";
import { arrivedLast, countsOf, type Decided, decided, isChange, ofVerdict } from "./verdicts";

interface ChangesProps {
  at: PullAddresses;
  pull: PullRequest | undefined;
  compared: Live<LatestComparison>;
  onHelp: () => void;
}

export function Changes({ at, pull, compared, onHelp }: ChangesProps) {
  const { data, error, refresh } = compared;
  if (!data) return error ? <Failed error={error} retry={refresh} /> : <GallerySkeleton />;
  if (!data.comparison) return <NotCompared />;
  return <Compared comparison={data.comparison} {...{ at, pull, onHelp }} />;
}

function NotCompared() {
  return (
    <Empty title="Not compared yet">
      <p>
        No client has compared this pull request with its base. <code>prshots upload</code> does it, or run:
      </p>
      <RunThis command="prshots compare" />
    </Empty>
  );
}

interface ComparedProps extends Omit<ChangesProps, "compared"> {
  comparison: Comparison;
}

function Compared({ at, pull, comparison, onHelp }: ComparedProps) {
  const { query } = useLocation();
  const wanting = useWanting(at, "changes");
  const { wanted } = wanting;
  const { shots, branch } = comparison;
  const all = useMemo(() => decided(shots), [shots]);
  const inVerdict = useMemo(() => ofVerdict(all, wanted.verdict), [all, wanted.verdict]);
  const found = useStill(
    find(inVerdict, wanted, (shot) => shot),
    `${comparison.commit_sha} ${new URLSearchParams(asParameters(wanted))}`,
  );
  const opened = openedAt(query, []);
  const close = useClosing(at, "changes", wanted, opened);
  return (
    <>
      <div class="base">
        <Base comparison={comparison} />
        {all.length > 0 && <Verdicts {...{ at, wanted, shots }} />}
        <State comparison={comparison} pull={pull} />
      </div>
      {all.length > 0 && (
        <>
          <Toolbar
            {...{ at, wanting, ...choices(all) }}
            tab="changes"
            found={found.length}
            total={inVerdict.length}
          />
          <Sheet shots={found} {...{ branch, at, wanted }} />
          {found.length === 0 && <Nothing {...{ at, wanted, comparison }} />}
        </>
      )}
      {opened && (
        <PairViewer
          {...{ opened, branch, at, wanted, onHelp }}
          order={orderOf(opened, found, all)}
          onClose={close}
        />
      )}
    </>
  );
}

/** Nothing on the page moves when a verdict arrives. Another commit or filter starts anew. */
function useStill(shots: Decided[], view: string): Decided[] {
  const last = useRef({ view, places: [] as string[] });
  const still = arrivedLast(shots, last.current.view === view ? last.current.places : []);
  useEffect(() => {
    last.current = { view, places: still.map(placeKey) };
  });
  return still;
}

/** What the page shows, or everything if the open shot is not in it. */
function orderOf({ place }: Opened, found: Decided[], all: Decided[]): Decided[] {
  const has = (shots: Decided[]) => shots.some((shot) => samePlace(shot, place));
  return has(found) || !has(all) ? found : all;
}

/** What was compared with what, and where each is in a pair. */
function Base({ comparison }: { comparison: Comparison }) {
  const { commit_sha, branch, base_commit } = comparison;
  if (arePairs(comparison))
    return <p class="base-line">Before on the left, after on the right, uploaded together</p>;
  if (base_commit === null) return null;
  return (
    <p class="base-line">
      <Mono>{branch}</Mono> at <Sha sha={base_commit} /> on the left, commit <Sha sha={commit_sha} /> on the
      right
    </p>
  );
}

/** What is missing, if anything is. */
function State({ comparison, pull }: { comparison: Comparison; pull: PullRequest | undefined }) {
  const ran = useRef(false);
  ran.current ||= comparison.state === "running";
  const words = stateWords(comparison) ?? (ran.current ? doneWords(comparison) : null);
  const isNewer = pull && pull.images > 0 && pull.last_commit !== comparison.commit_sha;
  return (
    <>
      {words && (
        <div class="base-state" data-state={comparison.state} role="status">
          <p>
            <strong>{words.title}</strong> {words.text}
          </p>
          {words.command && <RunThis command={words.command} />}
        </div>
      )}
      {isNewer && (
        <p class="base-state" data-state="newer">
          <strong>Not the newest commit</strong> The screenshots of <Sha sha={pull.last_commit} /> are not
          compared yet.
        </p>
      )}
    </>
  );
}

const Sha = ({ sha }: { sha: string }) => <Mono title={sha}>{shortSha(sha)}</Mono>;

interface VerdictsProps {
  at: PullAddresses;
  wanted: Wanted;
  shots: Comparison["shots"];
}

/** The filter by verdict. Without one, everything but unchanged shots is shown. */
function Verdicts({ at, wanted, shots }: VerdictsProps) {
  const counts = countsOf(shots);
  const options = [
    { id: "", label: "All changes", count: shots.filter(isChange).length },
    ...counts.map(([id, count]) => ({ id, label: capitalized(id), count })),
  ];
  return (
    <nav class="verdicts" aria-label="Verdict">
      {options.map(({ id, label, count }) => (
        <Link
          key={id}
          class="verdict-filter"
          href={pageHref(at, { tab: "changes", wanted: { ...wanted, verdict: id } })}
          replace
          {...(id === wanted.verdict ? { "aria-current": "true" as const } : {})}
        >
          {label} <span class="count">{formatNumber(count)}</span>
        </Link>
      ))}
    </nav>
  );
}

function Nothing({ at, wanted, comparison }: { at: PullAddresses; wanted: Wanted; comparison: Comparison }) {
  if (!isEverything(wanted)) return <NoMatch at={at} wanted={wanted} tab="changes" />;
  if (comparison.state !== "compared") return null;
  const same = formatCount(comparison.shots.length, "shot");
  return (
    <Empty title="No changes">
      <p>
        {same} compared with {arePairs(comparison) ? "their own before" : comparison.branch}: nothing changed.
      </p>
      <Link class="button plain" href={pageHref(at, { tab: "all" })}>
        Show all screenshots
      </Link>
    </Empty>
  );
}
