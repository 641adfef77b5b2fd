import { useState } from "preact/hooks";
import { ApiError, send } from "../lib/api";
import { formatBytes, formatCount, formatNumber } from "../lib/format";
import { navigate } from "../lib/router";
import type { Project, ProjectDeletion } from "../lib/types";
import { Button, Confirm, toast } from "../ui";

interface Progress {
  all: number;
  removed: number;
  /** Why it stopped, if it did. */
  stopped?: string;
}

export function DeleteProject({ project }: { project: Project }) {
  const [asking, setAsking] = useState(false);
  const [progress, setProgress] = useState<Progress | null>(null);
  const remove = async () => {
    setAsking(false);
    const all = Math.max(project.images, progress?.all ?? 0);
    let removed = all - project.images;
    try {
      for (let remaining = 1; remaining > 0; ) {
        setProgress({ all, removed });
        const body = { name: project.name };
        ({ remaining } = await send<ProjectDeletion>("POST", `/projects/${project.id}/delete`, body));
        removed = Math.max(0, all - remaining);
      }
      toast(`${project.name} and its ${formatCount(all, "image")} are deleted.`);
      navigate("/", { replace: true });
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setProgress({ all, removed, stopped: failure.message });
    }
  };
  return (
    <section class="section split">
      <h2>Delete the project</h2>
      <div class="stack">
        <p>
          Removes its {formatCount(project.images, "image")} ({formatBytes(project.bytes)}) first, then the
          project and its tokens. Comments that show its images will show broken ones. There is no way back.
        </p>
        {progress && <Going progress={progress} onGoOn={remove} />}
        {!progress && (
          <p>
            <Button kind="danger" onClick={() => setAsking(true)}>
              Delete project…
            </Button>
          </p>
        )}
      </div>
      {asking && (
        <Confirm
          title={`Delete ${project.name}?`}
          action="Delete project"
          typed={{ label: "Type the project’s name to go on", text: project.name }}
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          <p>
            {formatCount(project.images, "image")} and every token of this project will be gone for good. CI
            jobs that upload to it will fail.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function Going({ progress, onGoOn }: { progress: Progress; onGoOn: () => Promise<void> }) {
  const { all, removed, stopped } = progress;
  return (
    <div class="going">
      <progress max={Math.max(all, 1)} value={removed} aria-label="Images removed" />
      <p role="status">
        {formatNumber(removed)} of {formatCount(all, "image")} removed
      </p>
      {stopped && (
        <>
          <p class="field-error">{stopped} What is removed stays removed; the rest is still there.</p>
          <p>
            <Button kind="danger" onClick={() => void onGoOn()}>
              Go on deleting
            </Button>
          </p>
        </>
      )}
    </div>
  );
}
