/** The tab with all screenshots: the filter, the gallery, and the lightbox over it. */
import { useMemo, useRef } from "preact/hooks";
import { type Pages, useEveryPage, usePages } from "../lib/live";
import { refreshShown } from "../lib/poller";
import { Link, useLocation } from "../lib/router";
import type { Project, PullRequest, Shot, Verdict } from "../lib/types";
import { Lightbox } from "../lightbox/lightbox";
import { useCloseViewer } from "../lightbox/use-close-viewer";
import { NoImagesReason, useNewSince } from "../pull/pull-state";
import { type ChangesUrls, type OpenShot, openShotFrom, type PullUrls, pageHref } from "../pull/urls";
import { Empty, Failed, MoreButton } from "../ui";
import { arrange, type Folder, listShots } from "./arrange";
import { Gallery, GallerySkeleton } from "./gallery";
import { filterOptions, filterShots, isUnfiltered, NO_FILTER, type ShotFilter } from "./shot-filter";
import { isSameShot, shotId } from "./shot-key";
import { Toolbar } from "./toolbar";
import { type ShotFilterInput, useShotFilter } from "./use-shot-filter";

/** How many shots load automatically. The browser filters and sorts them. */
const MOST_SHOTS = 6_000;
/** Wait for this many before showing any: in natural order, shots of a later page can come first. */
const WAITED_FOR = 1_500;

interface AllShotsProps {
  urls: PullUrls;
  projectId: string;
  project: Project | undefined;
  pull: PullRequest | undefined;
  /** The verdict on the newest image of a shot, if there is one. */
  verdictOf: (shot: Shot) => Verdict | null;
  /** The verdicts that occur. */
  verdicts: Verdict[];
  onHelp: () => void;
}

export function AllShots({ urls, projectId, project, pull, verdictOf, verdicts, onHelp }: AllShotsProps) {
  const { query } = useLocation();
  const shots = usePages(urls.shots, "shots", idOfShot);
  useEveryPage(shots, MOST_SHOTS);
  const filterInput = useShotFilter(urls, "all");
  const { filter } = filterInput;
  const folders = useFolders(shots.items, filter, verdictOf);
  const openShot = openShotFrom(query);
  const order = useOrder(openShot, folders, shots.items);
  const close = useCloseViewer(urls, "all", filter, openShot);
  return (
    <>
      <Screenshots {...{ urls, pull, shots, filterInput, folders, verdicts }} />
      {openShot && pull && (
        <Lightbox
          {...{ openShot, order, shots, project, projectId, pull, urls, filter, onHelp }}
          onClose={close}
          onChanged={refreshShown}
        />
      )}
    </>
  );
}

const idOfShot = ({ newest }: Shot): string => shotId(newest);

function useFolders(shots: Shot[], filter: ShotFilter, verdictOf: AllShotsProps["verdictOf"]): Folder[] {
  const { q, viewport, theme, verdict } = filter;
  return useMemo(() => {
    const found = filterShots(shots, { q, viewport, theme, verdict }, ({ newest }) => newest);
    return arrange(verdict === "" ? found : found.filter((shot) => verdictOf(shot) === verdict));
  }, [shots, q, viewport, theme, verdict, verdictOf]);
}

interface ScreenshotsProps extends Pick<AllShotsProps, "urls" | "pull" | "verdicts"> {
  shots: Pages<Shot>;
  filterInput: ShotFilterInput;
  folders: Folder[];
}

function Screenshots({ urls, pull, shots, filterInput, folders, verdicts }: ScreenshotsProps) {
  const newSince = useNewSince(pull?.last_upload_at);
  const options = useMemo(() => filterOptions(shots.items.map(({ newest }) => newest)), [shots.items]);
  const isEnough = shots.more === null || shots.items.length >= WAITED_FOR || shots.error !== undefined;
  const isReady = useEver(shots.loaded && isEnough);
  if (shots.items.length === 0 || !isReady) return <NoShots pull={pull} shots={shots} />;
  const { filter } = filterInput;
  const found = listShots(folders).length;
  return (
    <>
      <Toolbar {...{ urls, filterInput, verdicts, found, ...options }} tab="all" total={shots.items.length} />
      <Gallery {...{ folders, urls, filter, newSince }} lastCommit={pull?.last_commit ?? ""} />
      {found === 0 && !isUnfiltered(filter) && <NoMatch urls={urls} filter={filter} tab="all" />}
      {(shots.items.length >= MOST_SHOTS || shots.error) && (
        <MoreButton more={shots.more} noun="screenshots" />
      )}
    </>
  );
}

/** Shown if no shot matches the filter. */
export function NoMatch({
  urls,
  filter,
  tab,
}: {
  urls: ChangesUrls;
  filter: ShotFilter;
  tab: "all" | "changes";
}) {
  return (
    <Empty title="No results">
      <p>{filter.q ? <>No name contains “{filter.q}”.</> : "No screenshots match these filters."}</p>
      <Link class="button plain" href={pageHref(urls, { tab, filter: NO_FILTER })} replace>
        Clear filter
      </Link>
    </Empty>
  );
}

/** Whether it was ever true: once shown, the gallery stays, even while uploads add a page. */
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
        <NoImagesReason pull={pull} />. The next upload to #{pull.pr_number} appears here automatically.
      </p>
    </Empty>
  );
}

/** The filtered shots in order, or all shots if the filter hides the open one. */
function useOrder(openShot: OpenShot | null, folders: Folder[], shots: Shot[]): Shot[] {
  const filtered = useMemo(() => listShots(folders), [folders]);
  const isLeftOut = openShot !== null && !filtered.some(({ newest }) => isSameShot(newest, openShot.shotKey));
  return useMemo(() => (isLeftOut ? listShots(arrange(shots)) : filtered), [isLeftOut, filtered, shots]);
}
