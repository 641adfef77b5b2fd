/** The head of the pull request page: facts, a link to the forge, and actions. */
import { useState } from "preact/hooks";
import { describeCounts } from "../changes/descriptions";
import { countShots } from "../changes/verdicts";
import { send } from "../lib/api";
import { formatBytes, formatCount, formatNumber, shortSha } from "../lib/format";
import { Link } from "../lib/router";
import type { Comparison, Expired, Project, PullRequest, Sibling } from "../lib/types";
import { useMay } from "../lib/use-may";
import { GateLabel } from "../review/review-label";
import { ShareDialog } from "../share-links/share-dialog";
import {
  Button,
  CopyButton,
  confirmDialog,
  DownloadIcon,
  ExternalIcon,
  Menu,
  Mono,
  MoreIcon,
  PageHead,
  Time,
  toast,
  useAction,
} from "../ui";
import { forgeLinkLabel, pullHeading } from "./pull-labels";
import { PullState } from "./pull-state";
import { type PullUrls, pullUrls } from "./urls";

interface PullHeadProps {
  projectId: string;
  prNumber: number;
  project: Project | undefined;
  pull: PullRequest | undefined;
  comparison: Comparison | null;
  siblings: Sibling[];
  urls: PullUrls;
  onChanged: () => void;
  onHelp: () => void;
}

export function PullHead(props: PullHeadProps) {
  const { project, projectId, prNumber, pull, comparison, siblings, urls, onChanged, onHelp } = props;
  const crumbs = [
    { href: "/", label: "Projects" },
    { href: `/projects/${projectId}`, label: project?.name ?? "…" },
  ];
  return (
    <PageHead
      title={pullHeading(prNumber, pull?.title ?? "")}
      part={project?.name ?? ""}
      crumbs={crumbs}
      actions={pull && <Actions {...{ pull, urls, onChanged, onHelp }} />}
    >
      <p class="pull-facts">{pull ? <Facts pull={pull} comparison={comparison} /> : "\u00a0"}</p>
      {siblings.length > 0 && (
        <p class="pull-facts siblings">
          <span>Other projects in this pull request:</span>
          {siblings.map(({ id, name, gate }) => (
            <span key={id}>
              <Link href={pullUrls(id, prNumber).page}>{name}</Link> <GateLabel gate={gate} />
            </span>
          ))}
        </p>
      )}
    </PageHead>
  );
}

function Facts({ pull, comparison }: { pull: PullRequest; comparison: Comparison | null }) {
  const { source_branch, author } = pull;
  return (
    <>
      <PullState pull={pull} />
      {comparison && <GateLabel gate={comparison.gate} />}
      {author && <span>{author}</span>}
      {source_branch && <Mono>{source_branch}</Mono>}
      {comparison && countShots(comparison.counts) > 0 ? (
        <span>{describeCounts(comparison.counts)}</span>
      ) : (
        <span title="Images of all commits">{formatCount(pull.images, "image")}</span>
      )}
      <span>{formatBytes(pull.bytes)}</span>
      <span class="with-copy">
        <Mono title={pull.last_commit}>{shortSha(pull.last_commit)}</Mono>
        <CopyButton quiet text={pull.last_commit} label="Copy commit" />
      </span>
      <span>
        Uploaded <Time at={pull.last_upload_at} />
      </span>
    </>
  );
}

type ActionsProps = Pick<PullHeadProps, "urls" | "onChanged" | "onHelp"> & { pull: PullRequest };

function Actions({ pull, urls, onChanged, onHelp }: ActionsProps) {
  const { url } = pull;
  const [isSharing, setSharing] = useState(false);
  const maintains = useMay("maintainer");
  const hasImages = pull.images > 0;
  const action = useAction();
  const expire = async () => {
    if (await confirmExpire(pull)) await action.run(() => expireAll(urls).finally(onChanged));
  };
  return (
    <>
      {url && (
        <a class="button plain" href={url} target="_blank" rel="noopener noreferrer">
          <ExternalIcon /> {forgeLinkLabel(url)}
        </a>
      )}
      {hasImages && (
        <a class="button plain" href={urls.zip} download>
          <DownloadIcon /> Download all
        </a>
      )}
      {maintains && pull.closed_at === null && <Button onClick={() => setSharing(true)}>Share</Button>}
      {isSharing && <ShareDialog urls={urls} prNumber={pull.pr_number} onClose={() => setSharing(false)} />}
      <Menu button={<MoreIcon />} label="More actions">
        <li>
          <button type="button" onClick={onHelp}>
            Keyboard shortcuts
          </button>
        </li>
        {hasImages && maintains && (
          <li>
            <button type="button" class="danger" onClick={expire}>
              Delete screenshots…
            </button>
          </li>
        )}
      </Menu>
    </>
  );
}

function confirmExpire(pull: PullRequest): Promise<boolean> {
  const all = formatCount(pull.images, "image");
  return confirmDialog({
    title: `Delete ${all} of #${pull.pr_number}?`,
    action: `Delete ${all}`,
    body: (
      <p>
        {pull.images === 1 ? "Its link stops" : "Their links stop"} working, here and in the pull request. You
        can’t undo this.
      </p>
    ),
  });
}

async function expireAll(urls: PullUrls): Promise<void> {
  const { expired, failed } = await send<Expired>("POST", urls.expire);
  const deleted = `Deleted ${formatCount(expired, "image")}.`;
  if (failed === 0) toast(deleted);
  else
    toast(
      `${deleted} ${formatNumber(failed)} could not be deleted. The service retries within the hour.`,
      "failed",
    );
}
