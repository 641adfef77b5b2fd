/** Shots that nobody has to review for a while. */
import { shotId, variantLabel } from "../gallery/shot-key";
import { send } from "../lib/api";
import { date } from "../lib/format";
import { useLive } from "../lib/live";
import { Link } from "../lib/router";
import type { Project, Quarantine, QuarantineList } from "../lib/types";
import { useMay } from "../lib/use-may";
import { Button, Empty, Failed, Loading, ProjectHead, Time, toast, useAction } from "../ui";
import { describeEnd } from "./quarantine-end";

export function QuarantinePage({ projectId }: { projectId: string }) {
  const path = `/projects/${projectId}`;
  const project = useLive<Project>(path).data;
  const list = `${path}/quarantines`;
  const { data, error, refresh } = useLive<QuarantineList>(list);
  return (
    <>
      <ProjectHead projectId={projectId} project={project} current="quarantine" />
      {!data && (error ? <Failed error={error} retry={refresh} /> : <Loading rows={3} />)}
      {data?.quarantines.length === 0 && (
        <Empty title="Nothing is in quarantine">
          <p>
            Quarantine a screenshot that differs at random: it then needs no decisions for up to 30 days.
            Choose it among the <Link href={`${path}/noise`}>alternating screenshots</Link>, or open a change
            and choose <strong>Quarantine…</strong> in its menu.
          </p>
        </Empty>
      )}
      {data && data.quarantines.length > 0 && (
        <section class="column">
          <ul class="rows">
            {data.quarantines.map((quarantine) => (
              <Row key={shotId(quarantine)} quarantine={quarantine} list={list} onEnded={refresh} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

interface RowProps {
  quarantine: Quarantine;
  list: string;
  onEnded: () => Promise<void>;
}

function Row({ quarantine, list, onEnded }: RowProps) {
  const { id, name, reason, created_by, created_at, until } = quarantine;
  const action = useAction();
  const end = () =>
    action.run(async () => {
      await send("DELETE", `${list}/${id}`);
      toast(`${name} needs decisions again.`);
      await onEnded();
    });
  const ends = describeEnd(quarantine, Date.now());
  return (
    <li class="row token">
      <div class="row-main">
        <h2 class="row-title">{name}</h2>
        <p class="row-about">
          <span>{variantLabel(quarantine)}</span>
          <span>{reason}</span>
        </p>
      </div>
      <p class="row-about">
        <span>
          Until {date(until)}, by {created_by}, <Time at={created_at} />
        </span>
        {ends && <strong>{ends}</strong>}
      </p>
      <p class="row-actions">
        {useMay("reviewer") && (
          <Button busy={action.busy} onClick={() => void end()}>
            End<span class="hidden"> the quarantine of {name}</span>
          </Button>
        )}
      </p>
    </li>
  );
}
