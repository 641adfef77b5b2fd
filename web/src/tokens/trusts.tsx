import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import type { Project, Trust, TrustList } from "../lib/types";
import { SnippetBlock } from "../setup/snippet-block";
import { keylessSnippet } from "../setup/snippets";
import { Button, confirmDialog, Failed, Loading, Mono, Time, toast, useAction } from "../ui";
import {
  describeTrust,
  emptyDraft,
  formatPins,
  formatRefusedIds,
  issuerKind,
  issuerName,
} from "./trust-claims";
import { TrustForm } from "./trust-form";

/** Keyless upload: which CI jobs may upload, and what a job needs for it. */
export function Trusts({ projectId, project }: { projectId: string; project: Project | undefined }) {
  const path = `/projects/${projectId}/trusts`;
  const { base_url: baseUrl, trusted_issuers: issuers } = useMe().service;
  const { data, error, loading, refresh } = useLive<TrustList>(path);
  const [draft, setDraft] = useState(emptyDraft(issuers[0] ?? ""));
  return (
    <>
      <section class="section split">
        <h2>Allowed jobs</h2>
        <div class="stack wide">
          {loading && <Loading rows={2} />}
          {error && !data && <Failed error={error} retry={refresh} />}
          {data?.trusts.length === 0 && <p class="quiet">No jobs are allowed yet.</p>}
          <ul class="rows">
            {data?.trusts.map((trust) => (
              <TrustRow key={trust.id} trust={trust} path={path} onChanged={refresh} />
            ))}
          </ul>
        </div>
      </section>
      <section class="section split">
        <h2>Allow more jobs</h2>
        {issuers.length === 0 && <NoIssuers />}
        {issuers.length > 0 && (
          <TrustForm path={path} issuers={issuers} draft={draft} onChange={setDraft} onAdded={refresh} />
        )}
      </section>
      {issuers.length > 0 && project && (
        <section class="section split">
          <h2>Set up the job</h2>
          <SnippetBlock snippet={keylessSnippet(issuerKind(draft.issuer), baseUrl, project)} />
        </section>
      )}
    </>
  );
}

function NoIssuers() {
  return (
    <div class="stack">
      <p>
        This service doesn’t trust any issuers. Its administrator can add them in{" "}
        <Mono>PRSHOTS_TRUSTED_ISSUERS</Mono>: <Mono>https://token.actions.githubusercontent.com</Mono> for
        GitHub Actions, <Mono>https://gitlab.com</Mono> for GitLab.
      </p>
    </div>
  );
}

interface TrustRowProps {
  trust: Trust;
  path: string;
  onChanged: () => Promise<void>;
}

function TrustRow({ trust, path, onChanged }: TrustRowProps) {
  const { trusted_issuers: issuers } = useMe().service;
  const action = useAction();
  const { title, rest } = describeTrust(trust);
  const unpin = async () => {
    const sure = await confirmDialog({
      title: `Reset the pin of ${title}?`,
      body: (
        <p>
          The next job that matches can upload, and pins its own repository. Do this only if you know that the
          repository’s ids have changed, for example because you recreated it.
        </p>
      ),
      action: "Reset pin",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", `${path}/${trust.id}/pins`);
      toast(`Reset the pin of ${title}.`);
      await onChanged();
    });
  };
  const remove = async () => {
    const sure = await confirmDialog({
      title: `Remove ${title}?`,
      body: (
        <p>
          Its jobs can no longer upload, including jobs that are running now. You can allow them again later.
        </p>
      ),
      action: "Remove",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", `${path}/${trust.id}`);
      toast(`Removed ${title}.`);
      await onChanged();
    });
  };
  return (
    <li class="row token">
      <div class="row-main">
        <h3 class="row-title">
          <Mono>{title}</Mono>
        </h3>
        <p class="row-about">
          <span>{issuerName(trust.issuer)}</span>
          {rest.map((claim) => (
            <Mono key={claim}>{claim}</Mono>
          ))}
        </p>
        <Pins trust={trust} title={title} reset={unpin} />
      </div>
      <p class="row-about">
        <span>
          Created <Time at={trust.created_at} />{" "}
          {trust.created_by ? `by ${trust.created_by}` : "on the command line"}
        </span>
        <LastUse trust={trust} trusted={issuers.includes(trust.issuer)} />
      </p>
      <div class="row-actions">
        <Button busy={action.busy} onClick={remove} aria-label={`Remove ${title}`}>
          Remove
        </Button>
      </div>
    </li>
  );
}

/** The repository ids that the first job pinned, and those of the last refused job. */
function Pins({ trust, title, reset }: { trust: Trust; title: string; reset: () => Promise<void> }) {
  const ids = formatPins(trust);
  if (ids.length === 0) return null;
  return (
    <p class="row-about">
      <span>Pinned to</span>
      {ids.map((id) => (
        <Mono key={id}>{id}</Mono>
      ))}
      {trust.refused_at !== null && (
        <span class="problem">
          Refused a job with {formatRefusedIds(trust).join(", ")} <Time at={trust.refused_at} />
        </span>
      )}
      <span>
        <button
          type="button"
          class="link-button"
          onClick={() => void reset()}
          aria-label={`Reset the pin of ${title}`}
        >
          Reset pin
        </button>
      </span>
    </p>
  );
}

function LastUse({ trust, trusted }: { trust: Trust; trusted: boolean }) {
  if (!trusted) return <span class="problem">Blocked: the service no longer trusts this issuer</span>;
  if (trust.last_used_at === null) return <span>Never used</span>;
  return (
    <span>
      Last used <Time at={trust.last_used_at} />
    </span>
  );
}
