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
      toast(`Deleted ${project.name} and ${formatCount(all, "image")}.`);
      navigate("/", { replace: true });
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setProgress({ all, removed, stopped: failure.message });
    }
  };
  return (
    <section class="section split">
      <h2>Delete project</h2>
      <div class="stack">
        <p>
          This permanently deletes the project, its {formatCount(project.images, "image")} (
          {formatBytes(project.bytes)}) and its tokens. Pull request comments will show broken images.
        </p>
        {progress && <DeletionProgress progress={progress} onContinue={remove} />}
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
          typed={{ label: "Type the project name to confirm", text: project.name }}
          onConfirm={remove}
          onClose={() => setAsking(false)}
        >
          <p>
            This deletes {formatCount(project.images, "image")} and every token of this project. CI jobs that
            upload to it will fail. You can’t undo this.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function DeletionProgress({ progress, onContinue }: { progress: Progress; onContinue: () => Promise<void> }) {
  const { all, removed, stopped } = progress;
  return (
    <div class="going">
      <progress max={Math.max(all, 1)} value={removed} aria-label="Deleted images" />
      <p role="status">
        Deleted {formatNumber(removed)} of {formatCount(all, "image")}
      </p>
      {stopped && (
        <>
          <p class="field-error">{stopped} Deleted images can’t be restored. The others are still there.</p>
          <p>
            <Button kind="danger" onClick={() => void onContinue()}>
              Continue deleting
            </Button>
          </p>
        </>
      )}
    </div>
  );
}
