/** The side panels of the pair viewer: the list of changes, and the history of the shot on its base branch. */
import { useEffect, useRef } from "preact/hooks";
import { boxAspect, isSameShot, type ShotKey, shotId, variantLabel } from "../gallery/shot-key";
import { formatCount, shortSha } from "../lib/format";
import { usePages } from "../lib/live";
import type { BaselinePeriod } from "../lib/types";
import { shotHistoryPath } from "../pull/urls";
import { Thumbnail } from "../thumbnails/thumbnail";
import { Failed, Mono, MoreButton, Time } from "../ui";
import type { Section } from "./groups";
import type { ShotWithVerdict } from "./verdicts";

interface ShotListProps {
  sections: Section[];
  current: ShotKey;
  show: (shot: ShotKey) => void;
}

export function ShotList({ sections, current, show }: ShotListProps) {
  const list = useRef<HTMLElement>(null);
  const id = shotId(current);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another shot is shown
  useEffect(() => list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }), [id]);
  return (
    <aside ref={list} class="details" aria-label="Changes">
      {sections.map(({ id, title, shots }) => (
        <section key={id} class="shot-list">
          <h2>{title}</h2>
          <ul class="commits">
            {shots.map((shot) => (
              <li key={shotId(shot)}>
                <button
                  type="button"
                  onClick={() => show(shot)}
                  {...(isSameShot(shot, current) ? { "aria-current": "true" as const } : {})}
                >
                  <span>{shot.name}</span> <span>{variantLabel(shot)}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </aside>
  );
}

interface ShotHistoryProps {
  /** The path of the API. */
  history: string;
  branch: string;
  shot: ShotWithVerdict;
}

/** Every image that the shot had on the branch. A click opens the original. */
export function ShotHistory({ history, branch, shot }: ShotHistoryProps) {
  const list = usePages(shotHistoryPath(history, branch, shot), "periods", periodId);
  return (
    <aside class="details" aria-label="History">
      <h2>On {branch}</h2>
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {list.loaded && list.items.length === 0 && <p class="quiet">No baselines on {branch}.</p>}
      <ol class="history">
        {list.items.map((period) => (
          <li key={periodId(period)} style={{ "--aspect": boxAspect(shot.viewport) }}>
            <a class="image-link" href={period.image.url} target="_blank" rel="noopener">
              <Thumbnail image={period.image} aspect={boxAspect(shot.viewport)} />
              <span class="history-caption">
                <Commits period={period} />
                <Time at={period.first_at} />
                {period.image.id === shot.before?.id && <strong>Before image</strong>}
              </span>
            </a>
          </li>
        ))}
      </ol>
      <MoreButton more={list.more} noun="images" />
    </aside>
  );
}

const periodId = ({ image, first_commit }: BaselinePeriod): string => `${image.id} ${first_commit}`;

function Commits({ period: { first_commit, last_commit, commits } }: { period: BaselinePeriod }) {
  const first = <Mono title={first_commit}>{shortSha(first_commit)}</Mono>;
  if (commits === 1) return first;
  return (
    <span>
      {first} to <Mono title={last_commit}>{shortSha(last_commit)}</Mono>, {formatCount(commits, "commit")}
    </span>
  );
}
