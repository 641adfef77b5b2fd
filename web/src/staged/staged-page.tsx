import { boxAspect, variantLabel } from "../gallery/shot-key";
import { send } from "../lib/api";
import { showCommand } from "../lib/commands";
import { date, dateTime, formatCount, shortSha } from "../lib/format";
import { useLive, usePages } from "../lib/live";
import type { Image, Project, Staged } from "../lib/types";
import { useMay } from "../lib/use-may";
import { Thumbnail, Thumbnails, useThumbnailQueue } from "../thumbnails/thumbnail";
import {
  Button,
  Command,
  confirmDialog,
  Empty,
  Failed,
  Loading,
  Mono,
  MoreButton,
  ProjectHead,
  toast,
  useAction,
} from "../ui";
import { groupByBranch, type StagedBranch } from "./staged-branches";

const stagedId = ({ image }: Staged): string => image.id;

/** Screenshots of branches that have no pull request yet. */
export function StagedPage({ projectId }: { projectId: string }) {
  const project = useLive<Project>(`/projects/${projectId}`).data;
  const list = usePages(`/projects/${projectId}/staged`, "staged", stagedId);
  const queue = useThumbnailQueue(projectId);
  return (
    <Thumbnails.Provider value={queue}>
      <ProjectHead projectId={projectId} project={project} current="staged" />
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {!list.loaded && !list.error && <Loading rows={4} />}
      {list.loaded && list.items.length === 0 && <NothingStaged />}
      {list.items.length > 0 && (
        <p class="lead staged-lead">
          These screenshots were uploaded before their branch had a pull request. They move there once it has
          one, or are deleted after 7 days.
        </p>
      )}
      {groupByBranch(list.items).map((group) => (
        <BranchSection key={group.key} group={group} projectId={projectId} onDeleted={list.refresh} />
      ))}
      <MoreButton more={list.more} noun="screenshots" />
    </Thumbnails.Provider>
  );
}

function NothingStaged() {
  return (
    <Empty title="Nothing is staged">
      <p>A screenshot of a branch without a pull request appears here. To upload one, run:</p>
      <Command command={showCommand} />
    </Empty>
  );
}

interface BranchSectionProps {
  group: StagedBranch;
  projectId: string;
  onDeleted: () => Promise<void>;
}

function BranchSection({ group: { branch, repository, staged }, projectId, onDeleted }: BranchSectionProps) {
  return (
    <section class="section" aria-label={`Branch ${branch}${repository && ` of ${repository}`}`}>
      <h2 class="staged-branch">{branch}</h2>
      <p class="quiet staged-about">
        {repository && <span>{repository}</span>}
        <span>{formatCount(staged.length, "screenshot")}</span>
      </p>
      <ul class="staged">
        {staged.map((each) => (
          <StagedCard key={each.image.id} staged={each} projectId={projectId} onDeleted={onDeleted} />
        ))}
      </ul>
    </section>
  );
}

interface StagedCardProps {
  staged: Staged;
  projectId: string;
  onDeleted: () => Promise<void>;
}

function StagedCard({ staged: { image, before, expires_at }, projectId, onDeleted }: StagedCardProps) {
  const action = useAction();
  const remove = async () => {
    const sure = await confirmDialog({
      title: `Delete ${image.name}?`,
      body: <p>Links to it stop working. It will not move to a pull request. You can’t undo this.</p>,
      action: "Delete screenshot",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", `/projects/${projectId}/images/${image.id}`);
      toast(`Deleted ${image.name}.`);
      await onDeleted();
    });
  };
  return (
    <li class="staged-card">
      <div class="staged-images">
        {before && <StagedImage image={before} label="Before" />}
        <StagedImage image={image} label={before ? "After" : ""} />
      </div>
      <h3 class="staged-name" title={image.name}>
        {image.name}
      </h3>
      <p class="quiet staged-facts">
        <span>{variantLabel(image)}</span>
        <Mono title={image.commit_sha}>{shortSha(image.commit_sha)}</Mono>
        <time dateTime={new Date(expires_at * 1000).toISOString()} title={dateTime(expires_at)}>
          Expires {date(expires_at)}
        </time>
      </p>
      {useMay("maintainer") && (
        <Button kind="plain" onClick={remove} busy={action.busy} aria-label={`Delete ${image.name}`}>
          Delete
        </Button>
      )}
    </li>
  );
}

function StagedImage({ image, label }: { image: Image; label: string }) {
  return (
    <a class="image-link" href={image.url} target="_blank" rel="noopener">
      <Thumbnail image={image} aspect={boxAspect(image.viewport)} />
      {label && <span class="cell-caption">{label}</span>}
    </a>
  );
}
