/** The gallery: a row per name, a thumbnail per viewport, older commits folded away. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { formatCount, shortSha } from "../lib/format";
import { usePages } from "../lib/live";
import { Link } from "../lib/router";
import type { Image, Shot } from "../lib/types";
import { Failed, Mono, MoreButton, Time } from "../ui";
import { commitsPath, lightboxHref, type PullAddresses } from "./addresses";
import { boxAspect, type Place, placeKey, type Row, viewportLabel } from "./arrange";
import { Thumbnail } from "./thumbnail";

interface GalleryProps {
  rows: Row[];
  at: PullAddresses;
  /** Images uploaded after this time arrived while the page was open. */
  newSince: number;
}

export function Gallery({ rows, at, newSince }: GalleryProps) {
  return (
    <div class="gallery">
      {rows.map((row) => (
        <GalleryRow key={row.name} row={row} at={at} newSince={newSince} />
      ))}
    </div>
  );
}

function GalleryRow({ row, at, newSince }: { row: Row } & Omit<GalleryProps, "rows">) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const id = useId();
  const olderId = ({ viewport }: Place) => `${id}-${viewport}`; // not the name: "a b" and "a-b" would collide
  const toggle = (place: string) => {
    const next = new Set(unfolded);
    if (!next.delete(place)) next.add(place);
    setUnfolded(next);
  };
  return (
    <section class="gallery-row" aria-label={row.name}>
      <h2 class="gallery-name" title={row.name}>
        {row.name}
      </h2>
      <div>
        <ul class="gallery-cells">
          {row.cells.map((shot) => (
            <Cell
              key={shot.newest.viewport}
              shot={shot}
              at={at}
              isNew={shot.newest.uploaded_at > newSince}
              olderId={olderId(shot.newest)}
              unfolded={unfolded.has(placeKey(shot.newest))}
              toggle={() => toggle(placeKey(shot.newest))}
            />
          ))}
        </ul>
        {row.cells
          .filter(({ newest, count }) => count > 1 && unfolded.has(placeKey(newest)))
          .map(({ newest }) => (
            <OlderCommits key={newest.viewport} id={olderId(newest)} newest={newest} at={at} />
          ))}
      </div>
    </section>
  );
}

interface CellProps {
  shot: Shot;
  at: PullAddresses;
  isNew: boolean;
  /** The id of its older commits, which are on the page only while unfolded. */
  olderId: string;
  unfolded: boolean;
  toggle: () => void;
}

function Cell({ shot: { newest, count }, at, isNew, olderId, unfolded, toggle }: CellProps) {
  const aspect = boxAspect(newest.viewport);
  return (
    <li class={`cell ${count > 1 ? "stacked" : ""}`} style={{ "--aspect": aspect }}>
      <PictureLink image={newest} at={at} aspect={aspect}>
        <span class="cell-viewport">
          {viewportLabel(newest.viewport)}
          {isNew && <span class="cell-new">new</span>}
        </span>
      </PictureLink>
      {count > 1 && (
        <button
          type="button"
          class="cell-commits"
          aria-expanded={unfolded}
          onClick={toggle}
          {...(unfolded ? { "aria-controls": olderId } : {})}
        >
          {formatCount(count, "commit")}
          <span class="hidden">
            {" "}
            of {newest.name}, {viewportLabel(newest.viewport)}
          </span>
        </button>
      )}
    </li>
  );
}

interface PictureLinkProps {
  image: Image;
  at: PullAddresses;
  aspect: number;
  children?: ComponentChildren;
}

/** `data-shot` lets the lightbox give the focus back. */
function PictureLink({ image, at, aspect, children }: PictureLinkProps) {
  return (
    <Link
      class="picture-link"
      href={lightboxHref(at, image)}
      data-shot={image.id}
      data-place={placeKey(image)}
    >
      <Thumbnail image={image} aspect={aspect} />
      <span class="cell-caption">
        {children}
        <span class="cell-commit">
          <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono> <Time at={image.uploaded_at} />
        </span>
      </span>
    </Link>
  );
}

/** The older images of a shot. */
function OlderCommits({ id, newest, at }: { id: string; newest: Image; at: PullAddresses }) {
  const { items, more, error, loading, loaded, refresh } = usePages(
    commitsPath(at, newest),
    "images",
    imageId,
  );
  const older = items.filter((image) => image.id !== newest.id);
  const aspect = boxAspect(newest.viewport);
  return (
    <section class="older" id={id} aria-label={`Older commits at ${viewportLabel(newest.viewport)}`}>
      <h3 class="older-title">Older commits, {viewportLabel(newest.viewport)}</h3>
      {error && !loaded && <Failed error={error} retry={refresh} />}
      <ul class="gallery-cells" aria-busy={loading}>
        {loading && <SkeletonCell viewport={newest.viewport} />}
        {older.map((image) => (
          <li key={image.id} class="cell" style={{ "--aspect": aspect }}>
            <PictureLink image={image} at={at} aspect={aspect} />
          </li>
        ))}
      </ul>
      <MoreButton more={more} noun="commits" />
    </section>
  );
}

const imageId = ({ id }: Image): string => id;

function SkeletonCell({ viewport }: { viewport: string }) {
  const aspect = boxAspect(viewport);
  return (
    <li class="cell" style={{ "--aspect": aspect }}>
      <span class="thumbnail" style={{ aspectRatio: String(aspect) }} />
    </li>
  );
}

/** Shown until the first shots have loaded. */
export function GallerySkeleton() {
  return (
    <div class="gallery skeleton" role="status">
      <span class="hidden">Loading screenshots…</span>
      {["one", "two"].map((row) => (
        <div key={row} class="gallery-row" aria-hidden="true">
          <span class="gallery-name" />
          <ul class="gallery-cells">
            {["375x812", "768x1024", "1280x800"].map((viewport) => (
              <SkeletonCell key={viewport} viewport={viewport} />
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}
