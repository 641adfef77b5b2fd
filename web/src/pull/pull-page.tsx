import { useEffect, useMemo, useRef } from "preact/hooks";
import { Changes } from "../changes/changes";
import { describeTab } from "../changes/descriptions";
import { countChanges, createVerdictLookup, listCounts } from "../changes/verdicts";
import { AllShots } from "../gallery/all-shots";
import { GallerySkeleton } from "../gallery/gallery";
import type { ApiError } from "../lib/api";
import { formatCount } from "../lib/format";
import { type Live, useLive } from "../lib/live";
import { comparisonPace, refreshShown } from "../lib/poller";
import { includesRole } from "../lib/roles";
import { Link, useLocation } from "../lib/router";
import type { Comparison, LatestComparison, Project, PullRequest } from "../lib/types";
import { Thumbnails, useThumbnailQueue } from "../thumbnails/thumbnail";
import { Empty, Failed } from "../ui";
import { CommentView } from "./comment";
import { PullHead } from "./pull-head";
import { Announcement } from "./pull-state";
import { ShortcutsDialog, useShortcuts } from "./shortcuts";
import { type PullUrls, pageHref, pullUrls, TABS, type Tab, tabFrom } from "./urls";

interface PullPageProps {
  projectId: string;
  prNumber: number;
}

const NOTHING: LatestComparison = { comparison: null, siblings: [] };

export function PullPage({ projectId, prNumber }: PullPageProps) {
  const urls = pullUrls(projectId, prNumber);
  const project = useLive<Project>(`/projects/${projectId}`).data;
  const { data: pull, error, refresh } = useLive<PullRequest>(urls.pull);
  const latest = useComparison(urls, pull);
  const { comparison, siblings } = latest.data ?? NOTHING;
  const tab = useTab(latest);
  const queue = useThumbnailQueue(projectId);
  const { help, setHelp } = useShortcuts();
  const canDecide = includesRole(project?.role ?? "viewer", "reviewer");
  const onHelp = () => setHelp(true);
  const verdictOf = useMemo(() => createVerdictLookup(comparison), [comparison]);
  const verdicts = listCounts(comparison?.counts ?? {}).map(([verdict]) => verdict);
  return (
    <Thumbnails.Provider value={queue}>
      <PullHead
        {...{ project, projectId, prNumber, pull, comparison, siblings, urls, onHelp }}
        onChanged={refreshShown}
      />
      {!pull && error ? (
        <NoPull {...{ error, refresh, prNumber }} isKnown={project !== undefined} />
      ) : (
        <>
          <Tabs urls={urls} current={tab} comparison={comparison} />
          <Announcement words={pull ? `${formatCount(pull.images, "image")} in #${prNumber}` : ""} />
          {tab === null && <GallerySkeleton />}
          {tab === "changes" && <Changes {...{ urls, prNumber, pull, latest, onHelp, canDecide }} />}
          {tab === "all" && <AllShots {...{ urls, projectId, project, pull, verdictOf, verdicts, onHelp }} />}
          {tab === "comment" && <CommentView path={urls.comment} />}
        </>
      )}
      {help && <ShortcutsDialog onClose={() => setHelp(false)} />}
    </Thumbnails.Provider>
  );
}

function useComparison(urls: PullUrls, pull: PullRequest | undefined): Live<LatestComparison> {
  const latest = useLive<LatestComparison>(urls.comparison, comparisonPace);
  const uploaded = pull?.last_upload_at;
  const seen = useRef(uploaded);
  useEffect(() => {
    if (seen.current !== undefined && seen.current !== uploaded) void latest.refresh();
    seen.current = uploaded;
  }, [uploaded, latest]);
  return latest;
}

/**
 * The tab that the URL names. Otherwise Changes if there are any, or else All. Chosen once, so that the tab
 * doesn't switch when a verdict arrives. null: not known yet.
 */
function useTab({ data, loading }: Live<LatestComparison>): Tab | null {
  const { query } = useLocation();
  const first = useRef<Tab | null>(null);
  if (!loading) first.current ??= countChanges(data?.comparison?.counts ?? {}) > 0 ? "changes" : "all";
  return tabFrom(query) ?? first.current;
}

function NoPull({
  error,
  refresh,
  prNumber,
  isKnown,
}: {
  error: ApiError;
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

const TAB_LABELS: Record<Tab, string> = { changes: "Changes", all: "All", comment: "Comment" };

interface TabsProps {
  urls: PullUrls;
  current: Tab | null;
  comparison: Comparison | null;
}

function Tabs({ urls, current, comparison }: TabsProps) {
  const words = describeTab(comparison);
  return (
    <nav class="tabs" aria-label="Pull request">
      {TABS.map((tab) => (
        <Link
          key={tab}
          href={pageHref(urls, { tab })}
          {...(tab === current ? { "aria-current": "page" as const } : {})}
        >
          {TAB_LABELS[tab]}
          {tab === "changes" && words && <span class="tab-count"> {words}</span>}
        </Link>
      ))}
    </nav>
  );
}
