import type { ComponentChildren } from "preact";
import { formatBytes, formatCount, formatNumber } from "../lib/format";
import type { Measured } from "../lib/types";
import { Bars, Empty } from "../ui";
import { fillDays } from "./measured-days";
import { shortDay } from "./upload-periods";

const KINDS: Record<string, string> = {
  images: "Images of pull requests",
  before: "Before images",
  staged: "Staged images",
  baselines: "Baselines",
  thumbnails: "Thumbnails",
  differences: "Differences",
  closeups: "Close-ups",
};
const DERIVED = new Set(["thumbnails", "differences", "closeups"]);

interface MeasuredFilesProps {
  measured: Measured;
  days: number;
  /** Beside the title of the chart. */
  children?: ComponentChildren;
}

/** What the store has, by the kind of file and over time. */
export function MeasuredFiles({ measured, days, children }: MeasuredFilesProps) {
  const most = Math.max(1, ...measured.kinds.map(({ bytes }) => bytes));
  const total = measured.kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <section class="section">
      <div class="usage-head">
        <h2>Files</h2>
        {measured.day && <p class="chart-total">{formatBytes(total)}</p>}
      </div>
      <p class="lead">
        {measured.day && `Measured on ${shortDay(measured.day)}. `}
        {measured.estimated && "An estimate, because the store is very large. "}
        The hourly sweep measures all files that are older than an hour.
      </p>
      {measured.day ? (
        <div class="charts">
          <ul class="rows">
            {measured.kinds.map(({ kind, files, bytes }) => (
              <li key={kind} class="row biggest kind">
                <span>
                  {KINDS[kind] ?? kind}
                  {DERIVED.has(kind) && <span class="quiet small"> not counted</span>}
                </span>
                <span class="biggest-bar" aria-hidden="true">
                  <span style={{ width: `${(bytes / most) * 100}%` }} />
                </span>
                <span class="quiet">{formatCount(files, "file")}</span>
                <span>{formatBytes(bytes)}</span>
              </li>
            ))}
          </ul>
          <OverTime {...{ measured, days, children }} />
        </div>
      ) : (
        <Empty title="Nothing measured yet" />
      )}
    </section>
  );
}

function OverTime({ measured, days, children }: MeasuredFilesProps) {
  const bars = fillDays(measured.days, days, Date.now());
  const top = Math.max(0, ...bars.map(({ bytes }) => bytes));
  const first = bars[0]?.label ?? "";
  return (
    <figure class="chart">
      <figcaption>
        <h3>Stored files over time</h3>
        {children}
      </figcaption>
      <p class="chart-top" aria-hidden="true">
        {formatBytes(top)}
      </p>
      <Bars
        values={bars.map(({ bytes }) => bytes)}
        label={`Stored files since ${first}: at most ${formatBytes(top)}, measured on ${formatNumber(measured.days.length)} days.`}
        titles={bars.map(({ label, bytes }) => `${label}: ${bytes ? formatBytes(bytes) : "not measured"}`)}
      />
      <p class="chart-days" aria-hidden="true">
        <span>{first}</span>
        <span>Today</span>
      </p>
    </figure>
  );
}
