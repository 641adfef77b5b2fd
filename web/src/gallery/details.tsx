/** The side panel of the lightbox: facts about the image, and actions. */
import type { ComponentChildren } from "preact";
import { date, formatBytes, shortSha } from "../lib/format";
import type { Image, Project, PullRequest } from "../lib/types";
import { CopyButton, Mono, MoreButton, Time, TrashIcon } from "../ui";
import { type Size, viewportLabel } from "./arrange";
import { lifetime, lifetimeSentence } from "./lifetime";
import type { Shown } from "./shown";

interface DetailsProps {
  image: Image;
  pixels: Size | null;
  project: Project | undefined;
  pull: PullRequest;
  shown: Shown;
  show: (image: Image) => void;
  onDelete: () => void;
}

export function Details({ image, pixels, project, pull, shown, show, onDelete }: DetailsProps) {
  return (
    <aside class="details" aria-label="About this screenshot">
      <h2 class="hidden">{image.name}</h2>
      <dl class="facts">
        <Fact name="Viewport">{viewportLabel(image.viewport)}</Fact>
        <Fact name="Size">{pixels ? `${pixels.width} × ${pixels.height}` : "…"}</Fact>
        <Fact name="File">
          {TYPES[image.type] ?? image.type}, {formatBytes(image.size)}
        </Fact>
        <Fact name="Commit">
          <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono>
          <CopyButton quiet text={image.commit_sha} label="Copy commit" />
        </Fact>
        <Fact name="Uploaded">
          <Time at={image.uploaded_at} />
        </Fact>
        {project && <Fact name="Expires">{lifetimeSentence(lifetime(image, pull, project), date)}</Fact>}
      </dl>
      <div class="details-actions">
        <CopyButton text={image.url} label="Copy URL" />
        <CopyButton text={image.markdown} label="Copy markdown" />
        <a class="button plain" href={image.url} target="_blank" rel="noopener">
          Open original
        </a>
        <button type="button" class="button danger" onClick={onDelete}>
          <TrashIcon /> Delete
        </button>
      </div>
      {shown.commits.length > 1 && (
        <>
          <h3>Commits</h3>
          <Commits commits={shown.commits} shown={image} show={show} />
          <MoreButton more={shown.moreCommits} noun="commits" />
        </>
      )}
      <p class="keys">
        <kbd>←</kbd> <kbd>→</kbd> screenshots, <kbd>↑</kbd> <kbd>↓</kbd> commits, <kbd>Z</kbd> zoom,{" "}
        <kbd>I</kbd> details, <kbd>Esc</kbd> close. When zoomed in, arrow keys move the image. Hold{" "}
        <kbd>Shift</kbd> to go to another one.
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

function Commits({ commits, shown, show }: { commits: Image[]; shown: Image; show: (image: Image) => void }) {
  return (
    <ol class="commits">
      {commits.map((image) => (
        <li key={image.id}>
          <button
            type="button"
            onClick={() => show(image)}
            {...(image.id === shown.id ? { "aria-current": "true" as const } : {})}
          >
            <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono> <Time at={image.uploaded_at} />
          </button>
        </li>
      ))}
    </ol>
  );
}
