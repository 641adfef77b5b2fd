import { useEffect, useMemo, useRef } from "preact/hooks";
import {
  addressesOf,
  type Opened,
  openedAt,
  type PullAddresses,
  pageHref,
  tabOf,
} from "../gallery/addresses";
import { arrange, type Folder, inOrder, placeKey, samePlace } from "../gallery/arrange";
import { CommentView } from "../gallery/comment";
import { choices, EVERYTHING, find, isEverything, type Wanted, wantedOf } from "../gallery/finding";
import { Gallery, GallerySkeleton } from "../gallery/gallery";
import { Lightbox } from "../gallery/lightbox";
import { PullHead } from "../gallery/pull-head";
import { ShortcutsDialog, useShortcuts } from "../gallery/shortcuts";
import { Announce, useSeenUntil, WhyNone } from "../gallery/state";
import { Thumbnails, useThumbnailQueue } from "../gallery/thumbnail";
import { Toolbar } from "../gallery/toolbar";
import { formatCount } from "../lib/format";
import { type Pages, useEveryPage, useLive, usePages } from "../lib/live";
import { Link, navigate, useLocation } from "../lib/router";
import { useTyped } from "../lib/typed";
import type { Project, PullRequest, Shot } from "../lib/types";
import { Empty, Failed, MoreButton } from "../ui";

/** The most shots that load by themselves: they are filtered and ordered here. */
const MOST_SHOTS = 6_000;
/** So many are waited for: a later page can belong before an earlier one in natural order. */
const WAITED_FOR = 1_500;

interface PullPageProps {
  projectId: string;
  prNumber: number;
}

export function PullPage({ projectId, prNumber }: PullPageProps) {
  const at = addressesOf(projectId, prNumber);
  const { query } = useLocation();
  const project = useLive<Project>(`/projects/${projectId}`).data;
  const { data: pull, error, refresh } = useLive<PullRequest>(at.pull);
  const shots = usePages(at.shots, "shots", shotKey);
  useEveryPage(shots, MOST_SHOTS);
  const filter = useFilter(at, shots.items);
  const queue = useThumbnailQueue(projectId);
  const { opened, order, close } = useLightbox(at, filter, shots.items);
  const { help, setHelp } = useShortcuts();
  const onChanged = () => void Promise.all([refresh(), shots.refresh()]);
  const onHelp = () => setHelp(true);
  const tab = tabOf(query);
  return (
    <Thumbnails.Provider value={queue}>
      <PullHead {...{ project, projectId, prNumber, pull, at, onChanged, onHelp }} />
      {!pull && error ? (
        <NoPull {...{ error, refresh, prNumber }} isKnown={project !== undefined} />
      ) : (
        <>
          <Tabs at={at} current={tab} />
          <Announce words={pull ? `${formatCount(pull.images, "screenshot")} in #${prNumber}` : ""} />
          {tab === "comment" ? (
            <CommentView path={at.comment} />
          ) : (
            <Screenshots {...{ pull, shots, filter, at }} />
          )}
        </>
      )}
      {opened && pull && (
        <Lightbox
          {...{ opened, order, shots, project, projectId, pull, at, onChanged, onHelp }}
          wanted={filter.wanted}
          onClose={close}
        />
      )}
      {help && <ShortcutsDialog onClose={() => setHelp(false)} />}
    </Thumbnails.Provider>
  );
}

const shotKey = ({ newest }: Shot): string => placeKey(newest);

interface Filter {
  /** As typed, before the URL has it. */
  wanted: Wanted;
  text: string;
  setText: (text: string) => void;
  found: Shot[];
  folders: Folder[];
}

function useFilter(at: PullAddresses, shots: Shot[]): Filter {
  const { query } = useLocation();
  const inUrl = wantedOf(query);
  const [text, setText] = useTyped(inUrl.q, (q) =>
    pageHref(at, { tab: tabOf(query), wanted: { ...inUrl, q } }),
  );
  const wanted = { ...inUrl, q: text.trim() };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values, not the object
  const found = useMemo(() => find(shots, wanted), [shots, wanted.q, wanted.viewport, wanted.theme]);
  const folders = useMemo(() => arrange(found), [found]);
  return { wanted, text, setText, found, folders };
}

function NoPull({
  error,
  refresh,
  prNumber,
  isKnown,
}: {
  error: Parameters<typeof Failed>[0]["error"];
  refresh: () => unknown;
  prNumber: number;
  isKnown: boolean;
}) {
  if (error.status !== 404 || !isKnown) return <Failed error={error} retry={refresh} />;
  return (
    <Empty title="No screenshots yet">
      <p>Nothing has been uploaded for #{prNumber}. The first screenshot appears here automatically.</p>
    </Empty>
  );
}

const TAB_LABELS = { all: "Screenshots", comment: "Comment" } as const;

function Tabs({ at, current }: { at: PullAddresses; current: keyof typeof TAB_LABELS }) {
  return (
    <nav class="tabs" aria-label="Pull request">
      {(["all", "comment"] as const).map((tab) => (
        <Link
          key={tab}
          href={pageHref(at, { tab })}
          {...(tab === current ? { "aria-current": "page" as const } : {})}
        >
          {TAB_LABELS[tab]}
        </Link>
      ))}
    </nav>
  );
}

interface ScreenshotsProps {
  pull: PullRequest | undefined;
  shots: Pages<Shot>;
  filter: Filter;
  at: PullAddresses;
}

function Screenshots({ pull, shots, filter, at }: ScreenshotsProps) {
  const newSince = useSeenUntil(pull?.last_upload_at);
  const options = useMemo(() => choices(shots.items), [shots.items]);
  const isEnough = shots.more === null || shots.items.length >= WAITED_FOR || shots.error !== undefined;
  const isReady = useEver(shots.loaded && isEnough);
  if (shots.items.length === 0 || !isReady) return <NoShots pull={pull} shots={shots} />;
  const { wanted, text, setText, found, folders } = filter;
  const lastCommit = pull?.last_commit ?? "";
  return (
    <>
      <Toolbar
        {...{ at, wanted, text, ...options }}
        onText={setText}
        found={found.length}
        total={shots.items.length}
      />
      <Gallery {...{ folders, at, wanted, lastCommit, newSince }} />
      {found.length === 0 && !isEverything(wanted) && (
        <Empty title="No screenshots match">
          <p>{wanted.q ? <>No name contains “{wanted.q}”.</> : "None has this viewport and theme."}</p>
          <Link class="button plain" href={pageHref(at, { wanted: EVERYTHING })} replace>
            Clear filter
          </Link>
        </Empty>
      )}
      {(shots.items.length >= MOST_SHOTS || shots.error) && (
        <MoreButton more={shots.more} noun="screenshots" />
      )}
    </>
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

/** The URL says whether the lightbox is open. Closing goes back in history if it was opened from this page. */
function useLightbox(at: PullAddresses, { wanted, folders }: Filter, shots: Shot[]) {
  const { query } = useLocation();
  const opened = openedAt(query, shots);
  const order = useOrder(opened, folders, shots);
  const asked = query.has("shot");
  const last = useRef<{ opened: Opened | null; asked: boolean; here: boolean } | null>(null);
  useEffect(() => {
    const before = last.current;
    if (before?.opened && !opened) focusShot(before.opened);
    last.current = { opened, asked, here: before !== null && (!before.asked || before.here) };
  });
  const close = () => {
    if (last.current?.here) window.history.back();
    else navigate(pageHref(at, { wanted }), { replace: true });
  };
  return { opened, order, close };
}

/** The order of the gallery as it is filtered, or all of it for a shot that the filter leaves out. */
function useOrder(opened: Opened | null, folders: Folder[], shots: Shot[]): Shot[] {
  const filtered = useMemo(() => inOrder(folders), [folders]);
  const isLeftOut = opened !== null && !filtered.some(({ newest }) => samePlace(newest, opened.place));
  return useMemo(() => (isLeftOut ? inOrder(arrange(shots)) : filtered), [isLeftOut, filtered, shots]);
}

/** Focus the image in the gallery, or the newest one of its shot if it is folded away. */
function focusShot({ id, place }: Opened): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-shot]")];
  const itself = links.find(({ dataset }) => dataset.shot === id);
  const itsPlace = links.find(({ dataset }) => dataset.place === placeKey(place));
  (itself ?? itsPlace ?? document.querySelector<HTMLElement>("h1"))?.focus();
}
