import { useEffect, useRef } from "preact/hooks";
import { describeWaiting } from "../changes/descriptions";
import { listCounts } from "../changes/verdicts";
import { NO_FILTER, nameTerm } from "../gallery/shot-filter";
import { formatBytes, formatCount, formatNumber, shortSha } from "../lib/format";
import { useLive, usePages } from "../lib/live";
import { Link, useLocation } from "../lib/router";
import type { ListedPullRequest, Project, StagedList } from "../lib/types";
import { useMay } from "../lib/use-may";
import { useUrlText } from "../lib/use-url-text";
import { Announcement, NoImagesReason, PullState, useNewSince } from "../pull/pull-state";
import { pageHref, pullUrls } from "../pull/urls";
import { GateLabel } from "../review/review-label";
import {
  Choice,
  CopyButton,
  Empty,
  Failed,
  Loading,
  Mono,
  MoreButton,
  ProjectHead,
  SearchField,
  Time,
} from "../ui";
import {
  PULL_STATES,
  type PullFilter,
  type PullStateFilter,
  pullFilterFrom,
  pullFilterQuery,
} from "./pull-filter";

const LABELS: Record<PullStateFilter, string> = { "": "All", open: "Open", closed: "Closed" };

export function PullsPage({ projectId }: { projectId: string }) {
  const { query } = useLocation();
  const page = `/projects/${projectId}`;
  const filter = pullFilterFrom(query);
  const project = useLive<Project>(page);
  const list = usePages(`${page}/pulls${pullFilterQuery(filter)}`, "pulls", (pull) => pull.pr_number);
  const pulls = useLastLoaded(list.items, list.loading);
  const newSince = useNewSince(project.data ? (project.data.last_upload_at ?? 0) : undefined);
  const staged = useLive<StagedList>(`${page}/staged`).data;
  const filtered = filter.state !== "" || filter.q !== "";
  const found = `${formatCount(pulls.length, "pull request")}${list.more ? " and more" : ""}`;
  const newest = pulls[0];
  const latest = newest ? `Last upload to #${newest.pr_number}, commit ${shortSha(newest.last_commit)}` : "";
  return (
    <>
      <ProjectHead projectId={projectId} project={project.data} current="pulls" />
      <StagedLink page={page} list={staged} />
      {(filtered || list.loading || pulls.length > 0) && <PullToolbar page={page} filter={filter} />}
      <Announcement words={filtered ? found : latest} />
      <ul class="pulls" aria-busy={list.loading} aria-label="Pull requests">
        {pulls.map((pull) => (
          <PullRow
            key={pull.pr_number}
            pull={pull}
            href={pullHref(projectId, pull, filter.q)}
            isNew={pull.last_upload_at > newSince}
          />
        ))}
      </ul>
      <MoreButton more={list.more} noun="pull requests" />
      {pulls.length === 0 && list.loading && <Loading rows={5} />}
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {pulls.length === 0 && list.loaded && (
        <NoPulls page={page} filter={filter} hasStaged={Boolean(staged?.staged.length)} />
      )}
    </>
  );
}

/** Links to the staged screenshots, if there are any. */
function StagedLink({ page, list }: { page: string; list: StagedList | undefined }) {
  if (!list?.staged.length) return null;
  const count = `${formatCount(list.staged.length, "screenshot")}${list.next ? " and more" : ""}`;
  return (
    <p class="pulls-staged">
      <Link href={`${page}/staged`}>{count} staged</Link> for branches without a pull request
    </p>
  );
}

/** Keep the previous list on screen while a new filter loads, so that the page does not flicker. */
function useLastLoaded<T>(items: T[], loading: boolean): T[] {
  const last = useRef(items);
  useEffect(() => {
    if (!loading) last.current = items;
  }, [items, loading]);
  return loading ? last.current : items;
}

function PullToolbar({ page, filter }: { page: string; filter: PullFilter }) {
  return (
    <div class="toolbar">
      <PullSearch page={page} filter={filter} />
      <Choice
        label="Show"
        options={PULL_STATES.map((id) => ({ id, label: LABELS[id] }))}
        current={filter.state}
        href={(state) => page + pullFilterQuery({ ...filter, state })}
        replace={false}
      />
    </div>
  );
}

function PullSearch({ page, filter: { state, q } }: { page: string; filter: PullFilter }) {
  const [text, setText] = useUrlText(q, (filter) => page + pullFilterQuery({ state, q: filter }));
  return (
    <SearchField
      label="Search pull requests by number, commit or screenshot name"
      placeholder="Number, commit or name"
      text={text}
      onText={setText}
    />
  );
}

/** If the search matched a screenshot's name, the gallery opens filtered by it. */
const pullHref = (projectId: string, pull: ListedPullRequest, q: string): string =>
  pageHref(pullUrls(projectId, pull.pr_number), { filter: { ...NO_FILTER, q: nameTerm(pull, q) } });

interface PullRowProps {
  pull: ListedPullRequest;
  href: string;
  isNew: boolean;
}

function PullRow({ pull, href, isNew }: PullRowProps) {
  return (
    <li class="pull">
      <p class="pull-number">
        <Link href={href}>#{pull.pr_number}</Link>
        <span class="pull-title">{pull.title}</span>
        <PullState pull={pull} />
      </p>
      <p class="pull-comparison">
        {pull.images > 0 || pull.comparison ? (
          <ComparisonFacts pull={pull} />
        ) : (
          <span>
            <NoImagesReason pull={pull} />
          </span>
        )}
      </p>
      <p class="pull-size">
        {pull.images > 0 && (
          <>
            <span>{formatCount(pull.images, "image")}</span>
            <span>{formatBytes(pull.bytes)}</span>
          </>
        )}
      </p>
      <p class="pull-last">
        <span class="with-copy">
          <Mono title={pull.last_commit}>{shortSha(pull.last_commit)}</Mono>
          <CopyButton quiet text={pull.last_commit} label={`Copy commit of #${pull.pr_number}`} />
        </span>
        <span>
          {isNew && <span class="cell-new">new</span>}
          <Time at={pull.last_upload_at} />
        </span>
      </p>
    </li>
  );
}

/** The counts of the latest comparison, and what is still pending. */
function ComparisonFacts({ pull }: { pull: ListedPullRequest }) {
  const waiting = describeWaiting(pull.comparison, pull);
  return (
    <>
      {pull.gate && <GateLabel gate={pull.gate} />}
      {listCounts(pull.comparison?.counts ?? {}).map(([verdict, count]) => (
        <span key={verdict} class="verdict" data-verdict={verdict}>
          {formatNumber(count)} {verdict}
        </span>
      ))}
      {waiting && <span class="pull-waiting">{waiting}</span>}
    </>
  );
}

interface NoPullsProps {
  page: string;
  filter: PullFilter;
  hasStaged: boolean;
}

function NoPulls({ page, filter: { state, q }, hasStaged }: NoPullsProps) {
  const maySetUp = useMay("maintainer");
  if (state === "" && q === "" && hasStaged) {
    return (
      <Empty title="No pull requests yet">
        <p>The staged screenshots move here once their branch has a pull request.</p>
      </Empty>
    );
  }
  if (state === "" && q === "") {
    return (
      <Empty title="No screenshots yet">
        <p>Upload the first one from a CI job or your own machine. It appears here automatically.</p>
        {maySetUp && (
          <Link class="button primary" href={`${page}/setup`}>
            Set up uploads
          </Link>
        )}
      </Empty>
    );
  }
  return (
    <Empty title="No results">
      <p>
        No {state} pull requests{q && <> match “{q}”</>}. Search looks at numbers, commits and screenshot
        names.
      </p>
      <Link class="button plain" href={page}>
        Show all pull requests
      </Link>
    </Empty>
  );
}
