/** The gallery: a row per name, a thumbnail per viewport and theme, older commits folded away. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { formatCount, shortSha } from "../lib/format";
import { usePages } from "../lib/live";
import { Link } from "../lib/router";
import type { Image, Shot } from "../lib/types";
import { commitsPath, lightboxHref, type PullAddresses } from "../pull/urls";
import { Thumbnail } from "../thumbnails/thumbnail";
import { Failed, Mono, MoreButton, Time } from "../ui";
import {
  boxAspect,
  type Folder,
  firstRows,
  placeKey,
  placeLabel,
  type Row,
  rowCount,
  widestRow,
} from "./arrange";
import { Folders } from "./folders";
import { historyOf } from "./history";
import type { Wanted } from "./shot-filter";
import { Unchanged } from "./unchanged";
import { useGrowing } from "./use-incremental-rows";

interface GalleryProps {
  folders: Folder[];
  at: PullAddresses;
  wanted: Wanted;
  /** The newest commit. Images of it need not say so. */
  lastCommit: string;
  /** Images uploaded after this time arrived while the page was open. */
  newSince: number;
}

type RowProps = Omit<GalleryProps, "folders">;

export function Gallery({ folders, ...rest }: GalleryProps) {
  const { rows, end, showAfter } = useGrowing(rowCount(folders), rest.wanted);
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
  const toggle = (place: string) => {
    const next = new Set(unfolded);
    if (!next.delete(place)) next.add(place);
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
            key={placeKey(shot.newest)}
            shot={shot}
            olderId={olderId(shot.newest)}
            unfolded={unfolded.has(placeKey(shot.newest))}
            toggle={() => toggle(placeKey(shot.newest))}
            {...rest}
          />
        ))}
      </ul>
      {row.cells
        .filter(({ newest, commits }) => commits > 1 && unfolded.has(placeKey(newest)))
        .map(({ newest }) => (
          <OlderCommits key={placeKey(newest)} id={olderId(newest)} newest={newest} {...rest} />
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

function Cell({ shot, at, wanted, lastCommit, newSince, olderId, unfolded, toggle }: CellProps) {
  const { newest, commits } = shot;
  const isNew = newest.uploaded_at > newSince;
  return (
    <CellBox image={newest} isStacked={commits > 1}>
      <PictureLink image={newest} href={lightboxHref(at, newest, wanted)} isCell>
        <span class="cell-place">
          {placeLabel(newest)}
          {isNew && <span class="cell-new">new</span>}
        </span>
        {newest.commit_sha !== lastCommit && <Commit image={newest} />}
      </PictureLink>
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
            of {newest.name}, {placeLabel(newest)}
          </span>
        </button>
      )}
    </CellBox>
  );
}

/** As wide as the viewport's shape asks for. */
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

interface PictureLinkProps {
  image: Image;
  href: string;
  /** Whether it is the newest image of its shot: the keys go from one to the next. */
  isCell?: boolean;
  children: ComponentChildren;
}

/** `data-shot` lets the lightbox give the focus back. */
function PictureLink({ image, href, isCell = false, children }: PictureLinkProps) {
  return (
    <Link
      class="picture-link"
      href={href}
      data-shot={image.id}
      data-place={placeKey(image)}
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

/** The older images of a shot, each picture once. */
function OlderCommits({ id, newest, at, wanted }: { id: string; newest: Image } & RowProps) {
  const { items, more, error, loading, loaded, refresh } = usePages(
    commitsPath(at, newest),
    "images",
    imageId,
  );
  const [now, ...older] = historyOf(items);
  return (
    <section class="older" id={id} aria-label={`Older commits at ${placeLabel(newest)}`}>
      <p class="older-title">
        Older commits, {placeLabel(newest)} <Unchanged since={now?.unchangedSince ?? null} />
      </p>
      {error && !loaded && <Failed error={error} retry={refresh} />}
      <ul class="gallery-cells" aria-busy={loading}>
        {loading && <SkeletonCell viewport={newest.viewport} />}
        {older.map(({ image, unchangedSince }) => (
          <CellBox key={image.id} image={image}>
            <PictureLink image={image} href={lightboxHref(at, image, wanted)}>
              <Commit image={image} />
            </PictureLink>
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
