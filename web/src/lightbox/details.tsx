/** The side panel of the lightbox: facts about the image, and actions. */
import type { ComponentChildren } from "preact";
import { findEntry } from "../gallery/history";
import { type Size, viewportLabel } from "../gallery/shot-key";
import { Unchanged } from "../gallery/unchanged";
import { date, formatBytes, shortSha } from "../lib/format";
import type { Image, Project, PullRequest } from "../lib/types";
import { useMay } from "../lib/use-may";
import { imagePermalink, type PullUrls } from "../pull/urls";
import { CopyButton, Mono, MoreButton, Time, TrashIcon } from "../ui";
import { computeLifetime, describeLifetime } from "./lifetime";
import type { LightboxImage } from "./use-lightbox-image";

interface DetailsProps {
  image: Image;
  pixels: Size | null;
  project: Project | undefined;
  pull: PullRequest;
  urls: PullUrls;
  current: LightboxImage;
  show: (image: Image) => void;
  onDelete: () => void;
}

export function Details({ image, pixels, project, pull, urls, current, show, onDelete }: DetailsProps) {
  return (
    <aside class="details" aria-label="About this screenshot">
      <h2 class="hidden">{image.name}</h2>
      <dl class="facts">
        <Fact name="Viewport">{viewportLabel(image.viewport)}</Fact>
        {image.theme && <Fact name="Theme">{image.theme}</Fact>}
        <Fact name="Size">{pixels ? `${pixels.width} × ${pixels.height}` : "…"}</Fact>
        <Fact name="File">
          {TYPES[image.type] ?? image.type}
          {image.size > 0
            ? `, ${formatBytes(image.size)}`
            : ", same file as in an earlier commit or a baseline"}
        </Fact>
        <Fact name="Commit">
          <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono>
          <CopyButton quiet text={image.commit_sha} label="Copy commit" />
        </Fact>
        <Fact name="Uploaded">
          <Time at={image.uploaded_at} />
        </Fact>
        {project && (
          <Fact name="Expires">{describeLifetime(computeLifetime(image, pull, project), date)}</Fact>
        )}
      </dl>
      <div class="details-actions">
        <CopyButton text={imagePermalink(urls, image, current.isNewest)} label="Copy permalink" />
        <CopyButton text={image.url} label="Copy URL" />
        <CopyButton text={image.markdown} label="Copy markdown" />
        <a class="button plain" href={image.url} target="_blank" rel="noopener">
          Open original
        </a>
        {useMay("maintainer") && (
          <button type="button" class="button danger" onClick={onDelete}>
            <TrashIcon /> Delete
          </button>
        )}
      </div>
      {(current.history.length > 1 || current.history[0]?.unchangedSince) && (
        <>
          <h3>Commits</h3>
          <CommitHistory current={current} image={image} show={show} />
          <MoreButton more={current.moreCommits} noun="commits" />
        </>
      )}
      <p class="keys">
        <kbd>J</kbd> <kbd>K</kbd> next and previous, <kbd>↑</kbd> <kbd>↓</kbd> commits, <kbd>Z</kbd> zoom,{" "}
        <kbd>I</kbd> details, <kbd>Esc</kbd> close, <kbd>?</kbd> all keys. Arrow keys pan an image that is
        larger than the screen. Hold <kbd>Shift</kbd> to go to another image.
      </p>
    </aside>
  );
}

const TYPES: Record<string, string> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WebP",
};

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface CommitHistoryProps {
  current: LightboxImage;
  image: Image;
  show: (image: Image) => void;
}

function CommitHistory({ current: { history }, image, show }: CommitHistoryProps) {
  const currentEntry = findEntry(history, image.id);
  return (
    <ol class="commits">
      {history.map((entry, index) => (
        <li key={entry.image.id}>
          <button
            type="button"
            onClick={() => show(entry.image)}
            {...(index === currentEntry ? { "aria-current": "true" as const } : {})}
          >
            <Mono title={entry.image.commit_sha}>{shortSha(entry.image.commit_sha)}</Mono>{" "}
            <Time at={entry.image.uploaded_at} />
            <Unchanged since={entry.unchangedSince} />
          </button>
        </li>
      ))}
    </ol>
  );
}
