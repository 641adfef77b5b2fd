/** The tab with all screenshots: the filter, the gallery, and the lightbox over it. */
import { useMemo, useRef } from "preact/hooks";
import { type Pages, useEveryPage, usePages } from "../lib/live";
import { refreshShown } from "../lib/poller";
import { Link, useLocation } from "../lib/router";
import type { Project, PullRequest, Shot, Verdict } from "../lib/types";
import { Lightbox } from "../lightbox/lightbox";
import { useClosing } from "../lightbox/use-close-viewer";
import { useSeenUntil, WhyNone } from "../pull/pull-state";
import { type Opened, openedAt, type PullAddresses, pageHref } from "../pull/urls";
import { Empty, Failed, MoreButton } from "../ui";
import { arrange, type Folder, inOrder, placeKey, samePlace } from "./arrange";
import { Gallery, GallerySkeleton } from "./gallery";
import { choices, EVERYTHING, find, isEverything, type Wanted } from "./shot-filter";
import { Toolbar } from "./toolbar";
import { useWanting, type Wanting } from "./use-shot-filter";

/** The most shots that load by themselves: they are filtered and ordered here. */
const MOST_SHOTS = 6_000;
/** So many are waited for: a later page can belong before an earlier one in natural order. */
const WAITED_FOR = 1_500;

interface AllShotsProps {
  at: PullAddresses;
  projectId: string;
  project: Project | undefined;
  pull: PullRequest | undefined;
  /** The verdict about the newest image of a shot, if there is one. */
  verdictOf: (shot: Shot) => Verdict | null;
  /** The verdicts that there are. */
  verdicts: Verdict[];
  onHelp: () => void;
}

export function AllShots({ at, projectId, project, pull, verdictOf, verdicts, onHelp }: AllShotsProps) {
  const { query } = useLocation();
  const shots = usePages(at.shots, "shots", shotKey);
  useEveryPage(shots, MOST_SHOTS);
  const wanting = useWanting(at, "all");
  const { wanted } = wanting;
  const folders = useFound(shots.items, wanted, verdictOf);
  const opened = openedAt(query, shots.items);
  const order = useOrder(opened, folders, shots.items);
  const close = useClosing(at, "all", wanted, opened);
  return (
    <>
      <Screenshots {...{ at, pull, shots, wanting, folders, verdicts }} />
      {opened && pull && (
        <Lightbox
          {...{ opened, order, shots, project, projectId, pull, at, wanted, onHelp }}
          onClose={close}
          onChanged={refreshShown}
        />
      )}
    </>
  );
}

const shotKey = ({ newest }: Shot): string => placeKey(newest);

function useFound(shots: Shot[], wanted: Wanted, verdictOf: AllShotsProps["verdictOf"]): Folder[] {
  const { q, viewport, theme, verdict } = wanted;
  return useMemo(() => {
    const found = find(shots, { q, viewport, theme, verdict }, ({ newest }) => newest);
    return arrange(verdict === "" ? found : found.filter((shot) => verdictOf(shot) === verdict));
  }, [shots, q, viewport, theme, verdict, verdictOf]);
}

interface ScreenshotsProps extends Pick<AllShotsProps, "at" | "pull" | "verdicts"> {
  shots: Pages<Shot>;
  wanting: Wanting;
  folders: Folder[];
}

function Screenshots({ at, pull, shots, wanting, folders, verdicts }: ScreenshotsProps) {
  const newSince = useSeenUntil(pull?.last_upload_at);
  const options = useMemo(() => choices(shots.items.map(({ newest }) => newest)), [shots.items]);
  const isEnough = shots.more === null || shots.items.length >= WAITED_FOR || shots.error !== undefined;
  const isReady = useEver(shots.loaded && isEnough);
  if (shots.items.length === 0 || !isReady) return <NoShots pull={pull} shots={shots} />;
  const { wanted } = wanting;
  const found = inOrder(folders).length;
  return (
    <>
      <Toolbar {...{ at, wanting, verdicts, found, ...options }} tab="all" total={shots.items.length} />
      <Gallery {...{ folders, at, wanted, newSince }} lastCommit={pull?.last_commit ?? ""} />
      {found === 0 && !isEverything(wanted) && <NoMatch at={at} wanted={wanted} tab="all" />}
      {(shots.items.length >= MOST_SHOTS || shots.error) && (
        <MoreButton more={shots.more} noun="screenshots" />
      )}
    </>
  );
}

/** The filter finds nothing. */
export function NoMatch({ at, wanted, tab }: { at: PullAddresses; wanted: Wanted; tab: "all" | "changes" }) {
  return (
    <Empty title="No screenshots match">
      <p>{wanted.q ? <>No name contains “{wanted.q}”.</> : "None is like that."}</p>
      <Link class="button plain" href={pageHref(at, { tab, wanted: EVERYTHING })} replace>
        Clear filter
      </Link>
    </Empty>
  );
}

/** Whether it was ever true: a gallery that is shown stays, also while uploads add a page. */
function useEver(isTrue: boolean): boolean {
  const was = useRef(false);
  was.current ||= isTrue;
  return was.current;
}

function NoShots({ pull, shots }: Pick<ScreenshotsProps, "pull" | "shots">) {
  if (shots.error) return <Failed error={shots.error} retry={shots.refresh} />;
  if (shots.loading || shots.more || !pull) return <GallerySkeleton />;
  return (
    <Empty title="No screenshots">
      <p>
        <WhyNone pull={pull} />. The next upload to #{pull.pr_number} appears here automatically.
      </p>
    </Empty>
  );
}

/** The order of the gallery as it is filtered, or all of it for a shot that the filter leaves out. */
function useOrder(opened: Opened | null, folders: Folder[], shots: Shot[]): Shot[] {
  const filtered = useMemo(() => inOrder(folders), [folders]);
  const isLeftOut = opened !== null && !filtered.some(({ newest }) => samePlace(newest, opened.place));
  return useMemo(() => (isLeftOut ? inOrder(arrange(shots)) : filtered), [isLeftOut, filtered, shots]);
}
