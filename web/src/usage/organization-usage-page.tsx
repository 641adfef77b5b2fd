import { formatBytes, formatCount } from "../lib/format";
import { useLive } from "../lib/live";
import { Link, useLocation } from "../lib/router";
import type { Organization, OrganizationUsage, StoredProject } from "../lib/types";
import { Choice, Empty, Failed, Loading, OrganizationHead, QuotaBars } from "../ui";
import { MeasuredFiles } from "./measured-files";
import { daysFrom, RANGES } from "./ranges";

export function OrganizationUsagePage({ organization }: { organization: Organization }) {
  const days = daysFrom(useLocation().query);
  const base = `/organizations/${organization.id}`;
  const usage = useLive<OrganizationUsage>(`${base}/usage?days=${days}`);
  return (
    <>
      <OrganizationHead organization={organization} current="usage" />
      {usage.loading && <Loading rows={2} tall />}
      {usage.error && !usage.data && <Failed error={usage.error} retry={usage.refresh} />}
      {usage.data && (
        <>
          <QuotaBars base={base} />
          <section>
            <div class="usage-head">
              <h2>Stored now</h2>
              <p class="chart-total" aria-live="polite">
                {formatCount(usage.data.images, "image")}, {formatBytes(usage.data.bytes)}
              </p>
            </div>
            <Projects projects={usage.data.projects} />
          </section>
          <MeasuredFiles measured={usage.data.measured} days={Number(days)}>
            <Choice
              look="segments"
              label="Period"
              options={RANGES}
              current={days}
              href={(range) => `${base}/usage?days=${range}`}
            />
          </MeasuredFiles>
        </>
      )}
    </>
  );
}

function Projects({ projects }: { projects: StoredProject[] }) {
  const most = Math.max(1, ...projects.map(({ bytes }) => bytes));
  if (projects.length === 0) {
    return (
      <Empty title="No projects">
        <p>The projects that use the most storage appear here.</p>
      </Empty>
    );
  }
  return (
    <ol class="rows">
      {projects.map(({ id, name, images, bytes }) => (
        <li key={id} class="row biggest named">
          <Link href={`/projects/${id}/usage`}>{name}</Link>
          <span class="biggest-bar" aria-hidden="true">
            <span style={{ width: `${(bytes / most) * 100}%` }} />
          </span>
          <span class="quiet">{formatCount(images, "image")}</span>
          <span>{formatBytes(bytes)}</span>
        </li>
      ))}
    </ol>
  );
}
