/** Shots that go back and forth between the same pictures on a branch. */
import { useState } from "preact/hooks";
import { boxAspect, type ShotKey, shotId, variantLabel } from "../gallery/shot-key";
import { formatCount } from "../lib/format";
import { useLive } from "../lib/live";
import type { AlternatingShot, Noise, Project } from "../lib/types";
import { useMay } from "../lib/use-may";
import { Thumbnail, Thumbnails, useThumbnailQueue } from "../thumbnails/thumbnail";
import { Button, Empty, Failed, Loading, ProjectHead, Time } from "../ui";
import { QuarantineDialog } from "./quarantine-dialog";

export function NoisePage({ projectId }: { projectId: string }) {
  const path = `/projects/${projectId}`;
  const project = useLive<Project>(path).data;
  const { data, error, refresh } = useLive<Noise>(`${path}/noise`);
  const queue = useThumbnailQueue(projectId);
  const [chosen, setChosen] = useState<ShotKey | null>(null);
  return (
    <Thumbnails.Provider value={queue}>
      <ProjectHead projectId={projectId} project={project} current="noise" />
      {!data && (error ? <Failed error={error} retry={refresh} /> : <Loading rows={3} tall />)}
      {data?.shots.length === 0 && (
        <Empty title="No alternating screenshots">
          <p>
            A screenshot appears here if a branch alternated between the same images of it in the last 30
            days.
          </p>
        </Empty>
      )}
      {data && data.shots.length > 0 && (
        <section class="section" aria-labelledby="noise-title">
          <h2 id="noise-title">Alternating screenshots</h2>
          <p class="lead">
            The branch alternated between these images in the last 30 days. A pull request that shows the same
            difference needs no decision. Make the screenshot stable, or quarantine it.
          </p>
          <ul class="rows">
            {data.shots.map((shot) => (
              <Row key={`${shot.branch} ${shotId(shot)}`} shot={shot} onQuarantine={() => setChosen(shot)} />
            ))}
          </ul>
        </section>
      )}
      {chosen && (
        <QuarantineDialog
          projectId={projectId}
          shot={chosen}
          onClose={() => setChosen(null)}
          onDone={refresh}
        />
      )}
    </Thumbnails.Provider>
  );
}

function Row({ shot, onQuarantine }: { shot: AlternatingShot; onQuarantine: () => void }) {
  const aspect = boxAspect(shot.viewport);
  return (
    <li class="row noise">
      <div class="row-main">
        <h3 class="row-title">{shot.name}</h3>
        <p class="row-about">
          <span>
            {variantLabel(shot)} on {shot.branch}
          </span>
          <span>
            {formatCount(shot.changes, "change")}, last <Time at={shot.last_at} />
          </span>
        </p>
        {useMay("reviewer") && (
          <Button onClick={onQuarantine}>
            Quarantine<span class="hidden"> {shot.name}</span>
          </Button>
        )}
      </div>
      <ul class="noise-pictures" style={{ "--aspect": aspect }}>
        {shot.pictures.map(({ pixels, image, at }) => (
          <li key={pixels}>
            {image ? (
              <a class="image-link" href={image.url} target="_blank" rel="noopener">
                <Thumbnail image={image} aspect={aspect} />
              </a>
            ) : (
              <span class="thumbnail no-image" style={{ aspectRatio: String(aspect) }}>
                <span class="thumbnail-none">Deleted</span>
              </span>
            )}
            <span class="quiet small">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </li>
  );
}
