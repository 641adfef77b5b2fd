import { useMemo, useState } from "preact/hooks";
import { arrange, firstRows, rowCount, widestRow } from "../gallery/arrange";
import { GallerySkeleton, mostCells } from "../gallery/gallery";
import { filterShots, NO_FILTER } from "../gallery/shot-filter";
import { boxAspect, shotId, variantLabel } from "../gallery/shot-key";
import { useIncrementalRows } from "../gallery/use-incremental-rows";
import { uploadBaselinesCommand } from "../lib/commands";
import { formatBytes, formatCount, shortSha } from "../lib/format";
import { useEveryPage, useLive, usePages } from "../lib/live";
import { includesRole } from "../lib/roles";
import { Link, navigate, useLocation } from "../lib/router";
import type { BaselineCommit, BaselineList, Image, Project } from "../lib/types";
import { Thumbnail, Thumbnails, useThumbnailQueue } from "../thumbnails/thumbnail";
import {
  Command,
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

const MOST_IMAGES = 6_000;

/** The commits that have baselines, or the baselines of one commit. */
export function BaselinesPage({ projectId }: { projectId: string }) {
  const { query } = useLocation();
  const project = useLive<Project>(`/projects/${projectId}`).data;
  const queue = useThumbnailQueue(projectId);
  const branch = query.get("branch") ?? "";
  const commit = query.get("commit");
  return (
    <Thumbnails.Provider value={queue}>
      <ProjectHead projectId={projectId} project={project} current="baselines" />
      {commit ? (
        <BaselineImages {...{ projectId, branch, commit }} />
      ) : (
        <BaselineCommits projectId={projectId} branch={branch} project={project} />
      )}
    </Thumbnails.Provider>
  );
}

const baselinesPath = (projectId: string, query: Record<string, string> = {}): string => {
  const page = `/projects/${projectId}/baselines`;
  const given = Object.entries(query).filter(([, value]) => value !== "");
  return given.length > 0 ? `${page}?${new URLSearchParams(given)}` : page;
};

interface BaselineCommitsProps {
  projectId: string;
  /** Empty: all branches. */
  branch: string;
  project: Project | undefined;
}

function BaselineCommits({ projectId, branch, project }: BaselineCommitsProps) {
  const branches = useLive<BaselineList>(baselinesPath(projectId)).data?.branches ?? [];
  const list = usePages(baselinesPath(projectId, { branch }), "commits", commitKey);
  if (!list.loaded) {
    return list.error ? <Failed error={list.error} retry={list.refresh} /> : <Loading rows={4} />;
  }
  if (list.items.length === 0 && branch === "") return <NoBaselines />;
  return (
    <>
      <div class="toolbar gallery-toolbar">
        <select
          aria-label="Branch"
          value={branch}
          onChange={({ currentTarget }) =>
            navigate(baselinesPath(projectId, { branch: currentTarget.value }))
          }
        >
          <option value="">All branches</option>
          {(branch === "" || branches.includes(branch) ? branches : [...branches, branch]).map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
        {project && (
          <p class="toolbar-count">
            Keeps the newest {formatCount(project.keep_baselines, "commit")} of each branch.{" "}
            {includesRole(project.role, "maintainer") && (
              <Link href={`/projects/${projectId}/settings`}>Change</Link>
            )}
          </p>
        )}
      </div>
      {list.items.length === 0 && (
        <Empty title="No baselines">
          <p>The branch {branch} has no baselines.</p>
        </Empty>
      )}
      <ul class="rows baselines" aria-label="Baselines">
        {list.items.map((commit) => (
          <CommitRow key={commitKey(commit)} commit={commit} projectId={projectId} />
        ))}
      </ul>
      <MoreButton more={list.more} noun="commits" />
    </>
  );
}

const commitKey = ({ branch, commit_sha }: BaselineCommit): string => `${commit_sha} ${branch}`;

function CommitRow({ commit, projectId }: { commit: BaselineCommit; projectId: string }) {
  const { branch, commit_sha, complete, created_at, shots, bytes } = commit;
  return (
    <li class="row baseline">
      <span class="with-copy">
        <Link href={baselinesPath(projectId, { branch, commit: commit_sha })}>
          <Mono title={commit_sha}>{shortSha(commit_sha)}</Mono>
        </Link>
        <CopyButton quiet text={commit_sha} label={`Copy commit ${shortSha(commit_sha)}`} />
      </span>
      <span class="baseline-branch" title={branch}>
        {branch}
      </span>
      <span>{formatCount(shots, "screenshot")}</span>
      <span>{formatBytes(bytes)}</span>
      <span class="quiet" title={complete ? "" : "Not marked complete: screenshots may be missing"}>
        {complete ? "Complete" : "Not complete"}
      </span>
      <span class="quiet">
        <Time at={created_at} />
      </span>
    </li>
  );
}

function NoBaselines() {
  return (
    <Empty title="No baselines yet">
      <p>
        A baseline is a screenshot of your default branch. Pull requests are compared with it. The clients
        upload baselines on every push to the default branch. To upload them yourself, check it out and run:
      </p>
      <Command command={uploadBaselinesCommand} />
    </Empty>
  );
}

interface BaselineImagesProps {
  projectId: string;
  branch: string;
  commit: string;
}

function BaselineImages({ projectId, branch, commit }: BaselineImagesProps) {
  const query = new URLSearchParams({ branch, commit_sha: commit });
  const list = usePages(`/projects/${projectId}/baselines/images?${query}`, "images", imageId);
  useEveryPage(list, MOST_IMAGES);
  const [text, setText] = useState("");
  return (
    <section class="section" aria-labelledby="baseline-title">
      <p>
        <Link href={baselinesPath(projectId, { branch })}>All baselines of {branch}</Link>
      </p>
      <h2 id="baseline-title" class="baseline-title">
        {branch} at <Mono title={commit}>{shortSha(commit)}</Mono>
      </h2>
      <div class="toolbar gallery-toolbar">
        <SearchField
          label="Filter baselines by name"
          placeholder="Filter by name"
          text={text}
          onText={setText}
        />
      </div>
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {!list.loaded && !list.error && <GallerySkeleton />}
      {list.loaded && list.items.length === 0 && (
        <Empty title="No images">
          <p>They were deleted because newer commits have baselines.</p>
        </Empty>
      )}
      <ImageRows images={list.items} q={text} />
      {(list.items.length >= MOST_IMAGES || list.error) && <MoreButton more={list.more} noun="baselines" />}
    </section>
  );
}

const imageId = ({ id }: Image): string => id;

/** Like the gallery, but a click opens the original image. */
function ImageRows({ images, q }: { images: Image[]; q: string }) {
  const filter = { ...NO_FILTER, q };
  const folders = useMemo(() => {
    const found = filterShots(images, { ...NO_FILTER, q }, (image) => image);
    return arrange(found.map((newest) => ({ newest, commits: 1, unchanged_since: null })));
  }, [images, q]);
  const { rows, end } = useIncrementalRows(rowCount(folders), filter);
  const layout = {
    "--widest": widestRow(folders),
    "--gaps": mostCells(folders) - 1,
    "--rows": rowCount(folders),
  };
  const shown = firstRows(folders, rows).flatMap((folder) => folder.rows);
  return (
    <div class="gallery" style={layout}>
      <div class="gallery-rows">
        {shown.map(({ name, cells }) => (
          <section key={name} class="gallery-row" aria-label={name}>
            <h3 class="gallery-name" title={name}>
              {name}
            </h3>
            <ul class="gallery-cells">
              {cells.map(({ newest }) => (
                <li key={shotId(newest)} class="cell" style={{ "--aspect": boxAspect(newest.viewport) }}>
                  <a class="image-link" href={newest.url} target="_blank" rel="noopener">
                    <Thumbnail image={newest} aspect={boxAspect(newest.viewport)} />
                    <span class="cell-caption">{variantLabel(newest)}</span>
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
      <div ref={end} />
    </div>
  );
}
