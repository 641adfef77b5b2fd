/** The page behind a share link: one pull request’s changes, read-only, for people without an account. */
import { useEffect, useState } from "preact/hooks";
import { ComparedChanges } from "../changes/changes";
import { describeCounts } from "../changes/descriptions";
import { date } from "../lib/format";
import { useShared } from "../lib/live";
import type { Comparison, SharedChanges } from "../lib/types";
import { SHARED_KEYS } from "../lightbox/keys";
import { pullHeading } from "../pull/pull-labels";
import { ShortcutsDialog, useShortcuts } from "../pull/shortcuts";
import type { ChangesUrls } from "../pull/urls";
import { GateLabel } from "../review/review-label";
import { useReadOnlyDesk } from "../review/use-read-only-desk";
import { Banner } from "../shell/banner";
import { Empty, FailedPage, Loading, Mark, PageHead } from "../ui";

export const SHARED = "/shared";

export function SharedPage() {
  const secret = useSecret();
  const { data, error, refresh } = useShared(secret);
  return (
    <>
      <Banner />
      <header class="header">
        <div class="header-inner">
          <span class="wordmark">
            <Mark /> prshots
          </span>
        </div>
      </header>
      <main id="main" class="page wide" tabIndex={-1}>
        {data && <SharedPull key={secret} secret={secret} shared={data} refresh={refresh} />}
        {!data && !error && <Loading rows={4} />}
        {!data && error && error.status !== 404 && <FailedPage error={error} retry={refresh} />}
        {!data && error?.status === 404 && (
          <PageHead title="Not found">
            This link has ended or doesn’t exist. Ask whoever sent it for a new one.
          </PageHead>
        )}
      </main>
    </>
  );
}

/** The secret in the address. It changes if somebody pastes another link into this tab. */
function useSecret(): string {
  const [secret, setSecret] = useState(secretInAddress);
  useEffect(() => {
    const update = () => setSecret(secretInAddress());
    window.addEventListener("hashchange", update);
    return () => window.removeEventListener("hashchange", update);
  }, []);
  return secret;
}

/** Other characters can’t be in a header. */
const secretInAddress = (): string => window.location.hash.replace(/[^\w-]/g, "");

interface SharedPullProps {
  secret: string;
  shared: SharedChanges;
  refresh: () => Promise<void>;
}

function SharedPull({ secret, shared, refresh }: SharedPullProps) {
  const { project, pr_number, title, expires_at, comparison } = shared;
  return (
    <>
      <PageHead title={pullHeading(pr_number, title)} part={project}>
        <p class="pull-facts">
          <span>{project}</span>
          {comparison && <GateLabel gate={comparison.gate} />}
          {comparison && <span>{describeCounts(comparison.counts)}</span>}
          <span>This link ends on {date(expires_at)}, or when the pull request closes</span>
        </p>
      </PageHead>
      {comparison ? (
        <SharedComparison {...{ secret, comparison, refresh }} prNumber={pr_number} />
      ) : (
        <Empty title="Not compared yet">
          <p>The changes appear here automatically.</p>
        </Empty>
      )}
    </>
  );
}

interface SharedComparisonProps extends Omit<SharedPullProps, "shared"> {
  comparison: Comparison;
  prNumber: number;
}

function SharedComparison({ secret, comparison, refresh, prNumber }: SharedComparisonProps) {
  const desk = useReadOnlyDesk(comparison);
  const { help, setHelp } = useShortcuts();
  const urls: ChangesUrls = { page: SHARED, fragment: `#${secret}`, projectId: null, history: null };
  return (
    <>
      <ComparedChanges
        {...{ urls, prNumber, comparison, desk, refresh }}
        pull={undefined}
        onHelp={() => setHelp(true)}
      />
      {help && <ShortcutsDialog keys={SHARED_KEYS} onClose={() => setHelp(false)} />}
    </>
  );
}
