import { capitalize, formatBytes } from "../lib/format";
import { useLive } from "../lib/live";
import { Link } from "../lib/router";
import type { Quotas, QuotaUse } from "../lib/types";

const WARNING_SHARE = 0.8;

const ADVICE =
  "Close pull requests, shorten the retention, delete images or keep fewer baselines, or ask the operator for a larger quota.";

const percent = ({ bytes, limit }: QuotaUse): number => Math.floor((bytes / limit) * 100);

/** Warns from 80 % of a quota on. `base` is the path of a project or an organization, and of its routes. */
export function QuotaBanner({ base }: { base: string }) {
  const { data } = useLive<Quotas>(`${base}/quotas`);
  const quota = data?.quotas.find(({ bytes, limit }) => bytes >= limit * WARNING_SHARE);
  if (!quota) return null;
  return (
    <p class="quota-banner" role="status">
      The {quota.of}’s storage is {Math.min(percent(quota), 100)} % full.{" "}
      {quota.bytes >= quota.limit && "New uploads are refused. "}
      <Link href={`${base}/usage`}>See what uses it</Link>
    </p>
  );
}

/** How much of each quota is used, and what frees space. */
export function QuotaBars({ base }: { base: string }) {
  const quotas = useLive<Quotas>(`${base}/quotas`).data?.quotas ?? [];
  if (quotas.length === 0) return null;
  const isNearlyFull = quotas.some(({ bytes, limit }) => bytes >= limit * WARNING_SHARE);
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
            high={quota.limit * WARNING_SHARE}
          />
        </div>
      ))}
      <p class="hint">
        Uploaded images count: those of pull requests, before images, staged images and baselines. Thumbnails,
        differences and close-ups don’t. {isNearlyFull && ADVICE}
      </p>
    </section>
  );
}
