import { send } from "../lib/api";
import { useLive, usePages } from "../lib/live";
import { useLocation } from "../lib/router";
import type { NewToken, Project, Token } from "../lib/types";
import {
  Button,
  Choice,
  confirmDialog,
  Empty,
  Failed,
  FailedPage,
  Loading,
  Mono,
  MoreButton,
  ProjectHead,
  Time,
  toast,
  useAction,
} from "../ui";
import { CreateToken } from "./create-token";
import { describeTokenEnd, endsSoon, hasEnded } from "./token-end";
import { keylessPath } from "./trust-claims";
import { Trusts } from "./trusts";

const KINDS = [
  { id: "tokens", label: "Tokens" },
  { id: "keyless", label: "Without a token" },
] as const;

const ABOUT = {
  tokens:
    "A token lets a CI job upload images, get the comment and expire images of this project, and nothing else. Create a separate token for each use, so that you can replace them one at a time.",
  keyless:
    "Keyless upload: GitHub Actions and GitLab prove which repository a job belongs to. Choose which jobs may upload. Each job gets its own token for 15 minutes, so you don’t store a secret in your CI.",
};

export function TokensPage({ projectId }: { projectId: string }) {
  const project = useLive<Project>(`/projects/${projectId}`);
  const kindInUrl = useLocation().query.get("kind");
  const kind = KINDS.find(({ id }) => id === kindInUrl)?.id ?? "tokens";
  if (project.error && !project.data) return <FailedPage error={project.error} retry={project.refresh} />;
  return (
    <>
      <ProjectHead projectId={projectId} project={project.data} current="tokens" />
      <div class="kinds">
        <Choice
          label="Upload with"
          options={KINDS}
          current={kind}
          href={(id) => (id === "keyless" ? keylessPath(projectId) : `/projects/${projectId}/tokens`)}
        />
        <p class="lead">{ABOUT[kind]}</p>
      </div>
      {kind === "keyless" ? (
        <Trusts projectId={projectId} project={project.data} />
      ) : (
        <Tokens projectId={projectId} />
      )}
    </>
  );
}

const tokenId = (token: Token) => token.id;

function Tokens({ projectId }: { projectId: string }) {
  const tokens = usePages(`/projects/${projectId}/tokens`, "tokens", tokenId);
  const { items, more, loading, loaded, error, refresh } = tokens;
  return (
    <div class="column">
      <CreateToken projectId={projectId} onCreated={(_: NewToken) => refresh()} />
      {loading && <Loading rows={4} />}
      {error && !loaded && <Failed error={error} retry={refresh} />}
      {loaded && items.length === 0 && (
        <Empty title="No tokens yet">
          <p>Create the first one above, or let CI jobs upload without a token.</p>
        </Empty>
      )}
      <ul class="rows">
        {items.map((token) => (
          <TokenRow key={token.id} token={token} projectId={projectId} onRevoked={refresh} />
        ))}
      </ul>
      <MoreButton more={more} noun="tokens" />
    </div>
  );
}

interface TokenRowProps {
  token: Token;
  projectId: string;
  onRevoked: () => Promise<void>;
}

function TokenRow({ token, projectId, onRevoked }: TokenRowProps) {
  const action = useAction();
  const name = token.label || token.hint;
  const revoke = async () => {
    const sure = await confirmDialog({
      title: `Revoke the token ${name}?`,
      body: <p>CI jobs that use this token can no longer upload. You can’t undo this.</p>,
      action: "Revoke token",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", `/projects/${projectId}/tokens/${token.id}`);
      toast(`Revoked ${name}.`);
      await onRevoked();
    });
  };
  const now = Date.now();
  const ended = hasEnded(token, now);
  return (
    <li class={`row token ${token.revoked_at !== null || ended ? "past" : ""}`}>
      <div class="row-main">
        <h2 class="row-title">{token.label || "No label"}</h2>
        <Mono>{token.hint}</Mono>
      </div>
      <p class="row-about">
        <span>
          Created <Time at={token.created_at} />{" "}
          {token.created_by ? `by ${token.created_by}` : "on the command line"}
        </span>
        <span>{lastUse(token)}</span>
        {token.revoked_at === null &&
          token.expires_at !== null &&
          (endsSoon(token, now) ? (
            <strong>{describeTokenEnd(token, now)}</strong>
          ) : (
            <span>{describeTokenEnd(token, now)}</span>
          ))}
      </p>
      <div class="row-actions">
        {token.revoked_at !== null ? (
          <span class="quiet small">
            Revoked <Time at={token.revoked_at} /> {revokedBy(token)}
          </span>
        ) : ended ? null : (
          <Button busy={action.busy} onClick={revoke} aria-label={`Revoke ${name}`}>
            Revoke
          </Button>
        )}
      </div>
    </li>
  );
}

/** Tokens that were revoked before this was recorded have no name. */
const revokedBy = ({ revoked_by }: Token): string =>
  revoked_by === "" ? "on the command line" : revoked_by === null ? "" : `by ${revoked_by}`;

function lastUse(token: Token) {
  if (token.last_used_at === null) return "Never used";
  return (
    <>
      Last used <Time at={token.last_used_at} />
    </>
  );
}
