/** The gallery: a row per name, a thumbnail per viewport and theme, older commits folded away. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { formatCount, shortSha } from "../lib/format";
import { usePages } from "../lib/live";
import { Link } from "../lib/router";
import type { Image, Shot } from "../lib/types";
import { lightboxHref, type PullUrls, shotImagesPath } from "../pull/urls";
import { Thumbnail } from "../thumbnails/thumbnail";
import { Failed, Mono, MoreButton, Time } from "../ui";
import { type Folder, firstRows, type Row, rowCount, widestRow } from "./arrange";
import { Folders } from "./folders";
import { buildHistory } from "./history";
import type { ShotFilter } from "./shot-filter";
import { boxAspect, shotId, variantLabel } from "./shot-key";
import { Unchanged } from "./unchanged";
import { useIncrementalRows } from "./use-incremental-rows";

interface GalleryProps {
  folders: Folder[];
  urls: PullUrls;
  filter: ShotFilter;
  /** The newest commit. Its images show no commit. */
  lastCommit: string;
  /** Images uploaded after this time arrived while the page was open. */
  newSince: number;
}

type RowProps = Omit<GalleryProps, "folders">;

export function Gallery({ folders, ...rest }: GalleryProps) {
  const { rows, end, showAfter } = useIncrementalRows(rowCount(folders), rest.filter);
  const jump = (path: string) =>
    showAfter(
      rowCount(
        folders.slice(
          0,
          folders.findIndex((folder) => folder.path === path),
        ),
      ),
    );
  const several = folders.length > 1;
  const layout = {
    "--widest": widestRow(folders),
    "--gaps": mostCells(folders) - 1,
    "--rows": rowCount(folders),
  };
  return (
    <div class={several ? "with-folders" : ""}>
      {several && <Folders folders={folders} onJump={jump} />}
      <div class="gallery" style={layout}>
        {firstRows(folders, rows).map(({ path, rows }) => (
          <section key={path} class="gallery-folder" data-folder={path}>
            {several && (
              <h2 class="folder-name" tabIndex={-1}>
                {path || "No folder"}
              </h2>
            )}
            <div class="gallery-rows">
              {rows.map((row) => (
                <GalleryRow key={row.name} row={row} several={several} {...rest} />
              ))}
            </div>
          </section>
        ))}
        <div ref={end} />
      </div>
    </div>
  );
}

export const mostCells = (folders: Folder[]): number =>
  Math.max(1, ...folders.flatMap(({ rows }) => rows.map(({ cells }) => cells.length)));

function GalleryRow({ row, several, ...rest }: { row: Row; several: boolean } & RowProps) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const id = useId();
  // Not the name: "a b" and "a-b" would collide.
  const olderId = (image: Image) => `${id}-${image.viewport}-${image.theme}`;
  const toggle = (shot: string) => {
    const next = new Set(unfolded);
    if (!next.delete(shot)) next.add(shot);
    setUnfolded(next);
  };
  const Name = several ? "h3" : "h2";
  return (
    <section class="gallery-row" aria-label={row.name}>
      <Name class="gallery-name" title={row.name}>
        {several ? row.label : row.name}
      </Name>
      <ul class="gallery-cells">
        {row.cells.map((shot) => (
          <Cell
            key={shotId(shot.newest)}
            shot={shot}
            olderId={olderId(shot.newest)}
            unfolded={unfolded.has(shotId(shot.newest))}
            toggle={() => toggle(shotId(shot.newest))}
            {...rest}
          />
        ))}
      </ul>
      {row.cells
        .filter(({ newest, commits }) => commits > 1 && unfolded.has(shotId(newest)))
        .map(({ newest }) => (
          <OlderCommits key={shotId(newest)} id={olderId(newest)} newest={newest} {...rest} />
        ))}
    </section>
  );
}

interface CellProps extends RowProps {
  shot: Shot;
  /** The id of its older commits, which are on the page only while unfolded. */
  olderId: string;
  unfolded: boolean;
  toggle: () => void;
}

function Cell({ shot, urls, filter, lastCommit, newSince, olderId, unfolded, toggle }: CellProps) {
  const { newest, commits } = shot;
  const isNew = newest.uploaded_at > newSince;
  return (
    <CellBox image={newest} isStacked={commits > 1}>
      <ImageLink image={newest} href={lightboxHref(urls, newest, filter)} isCell>
        <span class="cell-variant">
          {variantLabel(newest)}
          {isNew && <span class="cell-new">new</span>}
        </span>
        {newest.commit_sha !== lastCommit && <Commit image={newest} />}
      </ImageLink>
      <Unchanged since={shot.unchanged_since} />
      {commits > 1 && (
        <button
          type="button"
          class="cell-commits"
          aria-expanded={unfolded}
          onClick={toggle}
          {...(unfolded ? { "aria-controls": olderId } : {})}
        >
          {formatCount(commits, "commit")}
          <span class="hidden">
            {" "}
            of {newest.name}, {variantLabel(newest)}
          </span>
        </button>
      )}
    </CellBox>
  );
}

/** A cell whose width follows from the viewport's aspect ratio. */
function CellBox({
  image: { viewport },
  isStacked = false,
  children,
}: {
  image: Pick<Image, "viewport">;
  isStacked?: boolean;
  children: ComponentChildren;
}) {
  return (
    <li class={`cell ${isStacked ? "stacked" : ""}`} style={{ "--aspect": boxAspect(viewport) }}>
      {children}
    </li>
  );
}

interface ImageLinkProps {
  image: Image;
  href: string;
  /** Whether it is the newest image of its shot: keyboard shortcuts step through these. */
  isCell?: boolean;
  children: ComponentChildren;
}

/** `data-image` and `data-shot` let the lightbox return the focus. */
function ImageLink({ image, href, isCell = false, children }: ImageLinkProps) {
  return (
    <Link
      class="image-link"
      href={href}
      data-image={image.id}
      data-shot={shotId(image)}
      {...(isCell ? { "data-cell": "" } : {})}
    >
      <Thumbnail image={image} aspect={boxAspect(image.viewport)} />
      <span class="cell-caption">{children}</span>
    </Link>
  );
}

function Commit({ image }: { image: Image }) {
  return (
    <span class="cell-commit">
      <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono> <Time at={image.uploaded_at} />
    </span>
  );
}

/** The older images of a shot. Equal bytes appear once. */
function OlderCommits({ id, newest, urls, filter }: { id: string; newest: Image } & RowProps) {
  const { items, more, error, loading, loaded, refresh } = usePages(
    shotImagesPath(urls, newest),
    "images",
    imageId,
  );
  const [now, ...older] = buildHistory(items);
  return (
    <section class="older" id={id} aria-label={`Older commits at ${variantLabel(newest)}`}>
      <p class="older-title">
        Older commits, {variantLabel(newest)} <Unchanged since={now?.unchangedSince ?? null} />
      </p>
      {error && !loaded && <Failed error={error} retry={refresh} />}
      <ul class="gallery-cells" aria-busy={loading}>
        {loading && <SkeletonCell viewport={newest.viewport} />}
        {older.map(({ image, unchangedSince }) => (
          <CellBox key={image.id} image={image}>
            <ImageLink image={image} href={lightboxHref(urls, image, filter)}>
              <Commit image={image} />
            </ImageLink>
            <Unchanged since={unchangedSince} />
          </CellBox>
        ))}
      </ul>
      <MoreButton more={more} noun="commits" />
    </section>
  );
}

const imageId = ({ id }: Image): string => id;

function SkeletonCell({ viewport }: { viewport: string }) {
  return (
    <CellBox image={{ viewport }}>
      <span class="thumbnail" style={{ aspectRatio: String(boxAspect(viewport)) }} />
    </CellBox>
  );
}

/** Shown until the first shots have loaded. */
export function GallerySkeleton() {
  const viewports = ["375x812", "768x1024", "1280x800"];
  const widest = viewports.reduce((sum, viewport) => sum + boxAspect(viewport), 0);
  return (
    <div class="gallery skeleton" role="status" style={{ "--widest": widest, "--gaps": 2, "--rows": 4 }}>
      <span class="hidden">Loading screenshots…</span>
      <div class="gallery-rows" aria-hidden="true">
        {["one", "two", "three", "four"].map((row) => (
          <div key={row} class="gallery-row">
            <span class="gallery-name" />
            <ul class="gallery-cells">
              {viewports.map((viewport) => (
                <SkeletonCell key={viewport} viewport={viewport} />
              ))}
            </ul>
          </div>
        ))}
      </div>
    </div>
  );
}
