import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { addressesOf, type Opened, openedAt, type PullAddresses } from "../gallery/addresses";
import { arrange, inOrder, placeKey } from "../gallery/arrange";
import { CommentView } from "../gallery/comment";
import { Gallery, GallerySkeleton } from "../gallery/gallery";
import { Lightbox } from "../gallery/lightbox";
import { Announce, PullState, useSeenUntil, WhyNone } from "../gallery/state";
import { Thumbnails, useThumbnailQueue } from "../gallery/thumbnail";
import { send } from "../lib/api";
import { formatBytes, formatCount, formatNumber, shortSha } from "../lib/format";
import { type Pages, useLive, usePages } from "../lib/live";
import { Link, navigate, useLocation } from "../lib/router";
import type { Expired, Project, PullRequest, Shot } from "../lib/types";
import {
  Button,
  CopyButton,
  confirmDialog,
  Empty,
  Failed,
  Mono,
  MoreButton,
  PageHead,
  Time,
  toast,
  useAct,
} from "../ui";

interface PullPageProps {
  projectId: string;
  prNumber: number;
}

export function PullPage({ projectId, prNumber }: PullPageProps) {
  const at = addressesOf(projectId, prNumber);
  const { query } = useLocation();
  const project = useLive<Project>(`/projects/${projectId}`).data;
  const { data: pull, error, refresh } = useLive<PullRequest>(at.pull);
  const shots = usePages(at.shots, "shots", ({ newest }) => placeKey(newest));
  const rows = useMemo(() => arrange(shots.items), [shots.items]);
  const order = useMemo(() => inOrder(rows), [rows]);
  const queue = useThumbnailQueue(projectId);
  const newSince = useSeenUntil(pull?.last_upload_at);
  const { opened, close } = useLightbox(at, order);
  const onChanged = () => void Promise.all([refresh(), shots.refresh()]);
  const head = { project, projectId, prNumber, pull, at, onChanged };
  if (!pull && error) {
    return (
      <>
        <Head {...head} />
        {error.status === 404 && project ? (
          <Empty title="No screenshots yet">
            <p>Nothing has been uploaded for #{prNumber}. The first screenshot appears here automatically.</p>
          </Empty>
        ) : (
          <Failed error={error} retry={refresh} />
        )}
      </>
    );
  }
  const comment = query.get("view") === "comment";
  return (
    <Thumbnails.Provider value={queue}>
      <Head {...head} />
      <Tabs at={at} comment={comment} />
      <Announce words={pull ? `${formatCount(pull.images, "screenshot")} in #${prNumber}` : ""} />
      {comment ? (
        <CommentView path={at.comment} />
      ) : (
        <Screenshots pull={pull} shots={shots}>
          <Gallery rows={rows} at={at} newSince={newSince} />
        </Screenshots>
      )}
      {opened && pull && (
        <Lightbox {...{ opened, order, shots, project, projectId, pull, at, onChanged }} onClose={close} />
      )}
    </Thumbnails.Provider>
  );
}

interface HeadProps extends PullPageProps {
  project: Project | undefined;
  pull: PullRequest | undefined;
  at: PullAddresses;
  onChanged: () => void;
}

function Head({ project, projectId, prNumber, pull, at, onChanged }: HeadProps) {
  const crumbs = [
    { href: "/", label: "Projects" },
    { href: `/projects/${projectId}`, label: project?.name ?? "…" },
  ];
  return (
    <PageHead
      title={`#${prNumber}`}
      part={project?.name ?? ""}
      crumbs={crumbs}
      actions={pull && pull.images > 0 && <DeleteScreenshots pull={pull} at={at} onDone={onChanged} />}
    >
      <p class="pull-facts">{pull ? <Facts pull={pull} /> : "\u00a0"}</p>
    </PageHead>
  );
}

function Facts({ pull }: { pull: PullRequest }) {
  return (
    <>
      <PullState pull={pull} />
      <span>{formatCount(pull.images, "screenshot")}</span>
      <span>{formatBytes(pull.bytes)}</span>
      <span class="with-copy">
        <Mono title={pull.last_commit}>{shortSha(pull.last_commit)}</Mono>
        <CopyButton quiet text={pull.last_commit} label="Copy commit" />
      </span>
      <span>
        Uploaded <Time at={pull.last_upload_at} />
      </span>
    </>
  );
}

function Tabs({ at, comment }: { at: PullAddresses; comment: boolean }) {
  const current = { "aria-current": "page" as const };
  return (
    <nav class="tabs" aria-label="Pull request">
      <Link href={at.page} {...(comment ? {} : current)}>
        Screenshots
      </Link>
      <Link href={`${at.page}?view=comment`} {...(comment ? current : {})}>
        Comment
      </Link>
    </nav>
  );
}

interface ScreenshotsProps {
  pull: PullRequest | undefined;
  shots: Pages<Shot>;
  children: ComponentChildren;
}

function Screenshots({ pull, shots, children }: ScreenshotsProps) {
  if (shots.items.length > 0) {
    return (
      <>
        {children}
        <MoreButton more={shots.more} noun="screenshots" />
      </>
    );
  }
  if (shots.error) return <Failed error={shots.error} retry={shots.refresh} />;
  if (shots.loading || !pull) return <GallerySkeleton />;
  return (
    <Empty title="No screenshots">
      <p>
        <WhyNone pull={pull} />. The next upload to #{pull.pr_number} appears here automatically.
      </p>
    </Empty>
  );
}

function DeleteScreenshots({
  pull,
  at,
  onDone,
}: {
  pull: PullRequest;
  at: PullAddresses;
  onDone: () => void;
}) {
  const act = useAct();
  const all = formatCount(pull.images, "screenshot");
  const expire = async () => {
    const sure = await confirmDialog({
      title: `Delete ${all} of #${pull.pr_number}?`,
      action: `Delete ${all}`,
      body: (
        <p>
          {pull.images === 1 ? "Its link stops" : "Their links stop"} working, here and in the pull request.
          You can’t undo this.
        </p>
      ),
    });
    if (sure) await act.run(() => expireAll(at).finally(onDone));
  };
  return (
    <Button busy={act.busy} onClick={expire}>
      Delete screenshots
    </Button>
  );
}

async function expireAll(at: PullAddresses): Promise<void> {
  const { expired, failed } = await send<Expired>("POST", at.expire);
  const deleted = `Deleted ${formatCount(expired, "screenshot")}.`;
  if (failed === 0) toast(deleted);
  else
    toast(
      `${deleted} ${formatNumber(failed)} could not be deleted. The service retries within the hour.`,
      "failed",
    );
}

/** The URL says whether the lightbox is open. Closing goes back in history if it was opened from this page. */
function useLightbox(at: PullAddresses, order: Shot[]) {
  const { query } = useLocation();
  const opened = openedAt(query, order);
  const asked = query.has("shot");
  const last = useRef<{ opened: Opened | null; asked: boolean; here: boolean } | null>(null);
  useEffect(() => {
    const before = last.current;
    if (before?.opened && !opened) focusShot(before.opened);
    last.current = { opened, asked, here: before !== null && (!before.asked || before.here) };
  });
  const close = () => {
    if (last.current?.here) window.history.back();
    else navigate(at.page, { replace: true });
  };
  return { opened, close };
}

/** Focus the image in the gallery, or the newest one of its shot if it is folded away. */
function focusShot({ id, place }: Opened): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-shot]")];
  const itself = links.find(({ dataset }) => dataset.shot === id);
  const itsPlace = links.find(({ dataset }) => dataset.place === placeKey(place));
  (itself ?? itsPlace ?? document.querySelector<HTMLElement>("h1"))?.focus();
}
