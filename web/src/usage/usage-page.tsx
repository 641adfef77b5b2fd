import { formatBytes, formatCount, formatNumber } from "../lib/format";
import { useLive } from "../lib/live";
import { Link, useLocation } from "../lib/router";
import type { Project, PullRequest, Usage } from "../lib/types";
import { Bars, Choice, Empty, Failed, FailedPage, Loading, ProjectHead, QuotaBars } from "../ui";
import { MeasuredFiles } from "./measured-files";
import { daysFrom, RANGES } from "./ranges";
import { groupDays, sum, type UploadPeriod } from "./upload-periods";

export function UsagePage({ projectId }: { projectId: string }) {
  const days = daysFrom(useLocation().query);
  const project = useLive<Project>(`/projects/${projectId}`);
  const usage = useLive<Usage>(`/projects/${projectId}/usage?days=${days}`);
  if (project.error && !project.data) return <FailedPage error={project.error} retry={project.refresh} />;
  return (
    <>
      <ProjectHead projectId={projectId} project={project.data} current="usage" />
      {usage.loading && <Loading rows={2} tall />}
      {usage.error && !usage.data && <Failed error={usage.error} retry={usage.refresh} />}
      {usage.data && (
        <>
          <QuotaBars base={`/projects/${projectId}`} />
          <Stored usage={usage.data} projectId={projectId} />
          <section class="section">
            <div class="usage-head">
              <h2>Uploads</h2>
              <Choice
                look="segments"
                label="Period"
                options={RANGES}
                current={days}
                href={(range) => `/projects/${projectId}/usage?days=${range}`}
              />
            </div>
            <Charts usage={usage.data} />
          </section>
          <MeasuredFiles measured={usage.data.measured} days={Number(days)} />
        </>
      )}
    </>
  );
}

/** What takes up space now. */
function Stored({ usage, projectId }: { usage: Usage; projectId: string }) {
  return (
    <section>
      <div class="usage-head">
        <h2>Stored now</h2>
        <p class="chart-total" aria-live="polite">
          {formatCount(usage.images, "image")}, {formatBytes(usage.bytes)}
        </p>
      </div>
      <h3 class="biggest-title">Biggest pull requests</h3>
      <Biggest pulls={usage.biggest} projectId={projectId} />
    </section>
  );
}

function Charts({ usage }: { usage: Usage }) {
  const parts = groupDays(usage.days);
  return (
    <>
      <p class="lead">Every upload of the period, including images that were deleted since.</p>
      <div class="charts">
        <Chart
          title="Uploaded images"
          total={formatNumber(sum(usage.days, "uploads"))}
          parts={parts}
          amount={(part) => part.uploads}
          show={formatNumber}
        />
        <Chart
          title="Uploaded data"
          total={formatBytes(sum(usage.days, "bytes"))}
          parts={parts}
          amount={(part) => part.bytes}
          show={formatBytes}
        />
      </div>
      <details class="disclosure as-table">
        <summary>Show as table</summary>
        <UsageTable parts={parts} />
      </details>
    </>
  );
}

interface ChartProps {
  title: string;
  total: string;
  parts: UploadPeriod[];
  amount: (part: UploadPeriod) => number;
  show: (value: number) => string;
}

function Chart({ title, total, parts, amount, show }: ChartProps) {
  const values = parts.map(amount);
  const top = Math.max(0, ...values);
  const first = parts[0]?.label ?? "";
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        <span class="chart-total">{total}</span>
      </figcaption>
      <p class="chart-top" aria-hidden="true">
        {show(top)}
      </p>
      <Bars
        values={values}
        label={`${title} since ${first}: ${total} in total, at most ${show(top)} per bar.`}
        titles={parts.map((part) => `${part.label}: ${show(amount(part))}`)}
      />
      <p class="chart-days" aria-hidden="true">
        <span>{first}</span>
        <span>Today</span>
      </p>
    </figure>
  );
}

function UsageTable({ parts }: { parts: UploadPeriod[] }) {
  return (
    <table class="usage-table">
      <thead>
        <tr>
          <th scope="col">Day</th>
          <th scope="col">Uploads</th>
          <th scope="col">Bytes</th>
        </tr>
      </thead>
      <tbody>
        {[...parts].reverse().map((part) => (
          <tr key={part.from}>
            <th scope="row">{part.label}</th>
            <td>{formatNumber(part.uploads)}</td>
            <td>{formatBytes(part.bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Biggest({ pulls, projectId }: { pulls: PullRequest[]; projectId: string }) {
  const most = Math.max(1, ...pulls.map((pull) => pull.bytes));
  if (pulls.length === 0) {
    return (
      <Empty title="No images stored">
        <p>The pull requests that use the most storage appear here.</p>
      </Empty>
    );
  }
  return (
    <ol class="rows">
      {pulls.map((pull) => (
        <li key={pull.pr_number} class="row biggest">
          <Link href={`/projects/${projectId}/prs/${pull.pr_number}`}>#{pull.pr_number}</Link>
          <span class="biggest-bar" aria-hidden="true">
            <span style={{ width: `${(pull.bytes / most) * 100}%` }} />
          </span>
          <span class="quiet">{formatCount(pull.images, "image")}</span>
          <span>{formatBytes(pull.bytes)}</span>
        </li>
      ))}
    </ol>
  );
}
