/** Below the viewer's bar: what changed, the modes, the regions, and what to copy. */
import { type ChangesUrls, MODES, type Mode, pairPermalink } from "../pull/urls";
import { CopyButton } from "../ui";
import { baseClass, describeBase, describeChange } from "./descriptions";
import { pairMarkdown } from "./pair-markdown";
import { VerdictChip } from "./verdict-chip";
import type { ShotWithVerdict } from "./verdicts";

const MODE_LABELS: Record<Mode, string> = {
  side: "Side by side",
  slider: "Slider",
  overlay: "Overlay",
  diff: "Difference",
};

interface PairToolbarProps {
  shot: ShotWithVerdict | undefined;
  /** null: there is only one image. */
  mode: Mode | null;
  /** The mode in the URL, which this pair may not have. */
  modeInUrl: Mode;
  urls: ChangesUrls;
  branch: string;
  mix: number;
  setMix: (mix: number) => void;
  withBoxes: boolean;
  toggleBoxes: () => void;
  choose: (mode: Mode) => void;
  /** The current region; -1: none. */
  region: number;
  nextRegion: () => void;
}

export function PairToolbar(props: PairToolbarProps) {
  const { shot, mode, modeInUrl, urls, branch, mix, setMix, withBoxes, toggleBoxes, choose } = props;
  const { region, nextRegion } = props;
  if (!shot) return <div class="strip" />;
  const about = describeBase(shot, branch);
  const permalink = pairPermalink(urls, shot, modeInUrl);
  return (
    <div class="strip">
      <p class="strip-about">
        <VerdictChip verdict={shot.verdict} /> <span>{describeChange(shot, branch)}</span>
        {about && <span class={baseClass(shot)}>{about}</span>}
      </p>
      {mode && (
        <fieldset class="choice modes">
          <legend class="hidden">Show</legend>
          {MODES.map((each, index) => (
            <button
              key={each}
              type="button"
              title={`${MODE_LABELS[each]} (${index + 1})`}
              aria-pressed={each === mode}
              aria-disabled={each === "diff" && shot.diff_url === null}
              onClick={() => choose(each)}
            >
              {MODE_LABELS[each]}
            </button>
          ))}
        </fieldset>
      )}
      {(mode === "slider" || mode === "overlay") && (
        <input
          class="mix"
          type="range"
          min={0}
          max={100}
          value={Math.round(mix)}
          aria-label={mode === "slider" ? "Position of the slider" : "Opacity of the after image"}
          onInput={({ currentTarget }) => setMix(Number(currentTarget.value))}
        />
      )}
      {shot.regions.length > 0 && (
        <>
          <button type="button" class="button plain" title="Next region (D)" onClick={nextRegion}>
            {region < 0 ? "Next region" : `Region ${region + 1} of ${shot.regions.length}`}
          </button>
          <button
            type="button"
            class="button plain"
            aria-pressed={withBoxes}
            title="Boxes (B)"
            onClick={toggleBoxes}
          >
            Boxes
          </button>
        </>
      )}
      <CopyButton text={permalink} label="Copy permalink" />
      {urls.projectId && <CopyButton text={pairMarkdown(shot, permalink)} label="Copy markdown" />}
    </div>
  );
}
