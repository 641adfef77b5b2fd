import { capitalize, formatBytes } from "../lib/format";
import { useLive } from "../lib/live";
import { Link } from "../lib/router";
import type { Quotas, QuotaUse } from "../lib/types";

const WARNING_SHARE = 0.8;

const percent = ({ bytes, limit }: QuotaUse): number => Math.floor((bytes / limit) * 100);

/** The quota that leaves the least space, from 80 % on. */
function nearlyFull(quotas: readonly QuotaUse[] = []): QuotaUse | undefined {
  const [fullest] = [...quotas].sort((a, b) => b.bytes / b.limit - a.bytes / a.limit);
  return fullest && fullest.bytes >= fullest.limit * WARNING_SHARE ? fullest : undefined;
}

const refusal = ({ bytes, limit }: QuotaUse): string => (bytes >= limit ? "New uploads are refused. " : "");

/** Warns from 80 % of a quota on. `base` is the path of a project or an organization, and of its routes. */
export function QuotaBanner({ base }: { base: string }) {
  const { data } = useLive<Quotas>(`${base}/quotas`);
  const quota = nearlyFull(data?.quotas);
  if (!quota) return null;
  return (
    <p class="warning quota-banner" role="status">
      The {quota.of}’s storage is {Math.min(percent(quota), 100)} % full. {refusal(quota)}
      <Link href={`${base}/usage`}>See what frees space</Link>
    </p>
  );
}

/** How much of each quota is used, and what frees space. */
export function QuotaBars({ base }: { base: string }) {
  const quotas = useLive<Quotas>(`${base}/quotas`).data?.quotas ?? [];
  if (quotas.length === 0) return null;
  const full = nearlyFull(quotas);
  return (
    <section>
      <div class="usage-head">
        <h2>Storage quota</h2>
      </div>
      {quotas.map((quota) => (
        <div key={quota.of} class="quota">
          <p>
            {capitalize(quota.of)}: {formatBytes(quota.bytes)} of {formatBytes(quota.limit)}, {percent(quota)}{" "}
            %
          </p>
          <meter
            aria-label={`Storage quota of the ${quota.of}`}
            value={Math.min(quota.bytes, quota.limit)}
            max={quota.limit}
            low={quota.limit * WARNING_SHARE}
            high={quota.limit - 1}
            optimum={0}
          />
        </div>
      ))}
      {full && (
        <p class="warning">
          {refusal(full)}To free space, close pull requests, shorten the retention, delete images or keep
          fewer baselines. Or ask the operator for a larger quota.
        </p>
      )}
      <p class="hint">
        Uploaded images count: those of pull requests, before images, staged images and baselines. Thumbnails,
        differences and close-ups don’t.
      </p>
    </section>
  );
}
