import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import { Link, useLocation } from "../lib/router";
import type { Project } from "../lib/types";
import { CreateToken } from "../tokens/create-token";
import { keylessPath } from "../tokens/trust-claims";
import { Choice, FailedPage, Mono, ProjectHead } from "../ui";
import { SnippetBlock } from "./snippet-block";
import { type Access, snippetsFor, WAYS, type Way } from "./snippets";

const ACCESSES = [
  { id: "token", label: "With a token" },
  { id: "keyless", label: "Without a token" },
] as const;

export function SetupPage({ projectId }: { projectId: string }) {
  const { data: project, error, refresh } = useLive<Project>(`/projects/${projectId}`);
  const { query } = useLocation();
  const way = WAYS.find(({ id }) => id === query.get("with"))?.id ?? "github";
  const access = ACCESSES.find(({ id }) => id === query.get("access"))?.id ?? "token";
  const setupHref = (chosen: { way: Way; access: Access }) =>
    `/projects/${projectId}/setup?with=${chosen.way}&access=${chosen.access}`;
  if (error && !project) return <FailedPage error={error} retry={refresh} />;
  return (
    <>
      <ProjectHead projectId={projectId} project={project} current="setup" />
      <section class="section split">
        <h2>
          <span class="step-number">1</span> Authenticate
        </h2>
        <div class="stack">
          <Choice
            label="Authentication"
            options={ACCESSES}
            current={access}
            href={(id) => setupHref({ way, access: id })}
          />
          {access === "token" ? <WithToken projectId={projectId} /> : <WithoutToken projectId={projectId} />}
        </div>
      </section>
      <section class="section split">
        <h2>
          <span class="step-number">2</span> Upload screenshots
        </h2>
        <div class="stack wide">
          <Choice
            look="segments"
            label="Upload with"
            options={WAYS}
            current={way}
            href={(id) => setupHref({ way: id, access })}
          />
          {project && <Snippets way={way} access={access} project={project} />}
        </div>
      </section>
    </>
  );
}

function WithToken({ projectId }: { projectId: string }) {
  return (
    <>
      <p>
        Create a token and store it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>. The snippets below
        use it. GitHub Actions and GitLab can also upload without a token.
      </p>
      <CreateToken projectId={projectId} />
      <p class="links">
        <Link href={`/projects/${projectId}/tokens`}>Show all tokens</Link>
        <Link href={keylessPath(projectId)}>Set up keyless upload</Link>
      </p>
    </>
  );
}

function WithoutToken({ projectId }: { projectId: string }) {
  return (
    <>
      <p>
        Keyless upload: GitHub Actions and GitLab prove which repository a job belongs to, so you don’t store
        a secret there. Choose which jobs may upload. The snippets below then need no token.
      </p>
      <p>
        <Link class="button primary" href={keylessPath(projectId)}>
          Choose jobs
        </Link>
      </p>
    </>
  );
}

function Snippets({ way, access, project }: { way: Way; access: Access; project: Project }) {
  const { base_url: baseUrl } = useMe().service;
  return (
    <>
      <LocalhostWarning baseUrl={baseUrl} />
      {snippetsFor(way, { baseUrl, access, project }).map((snippet) => (
        <SnippetBlock key={snippet.title} snippet={snippet} />
      ))}
    </>
  );
}

/** A CI runner on another machine cannot reach localhost here. */
function LocalhostWarning({ baseUrl }: { baseUrl: string }) {
  const { hostname } = new URL(baseUrl);
  if (hostname !== "localhost" && hostname !== "127.0.0.1") return null;
  return (
    <p class="warning">
      {baseUrl} works only on this machine. For CI jobs and reviewers elsewhere, set PRSHOTS_BASE_URL and
      PRSHOTS_IMG_URL to addresses that they can reach, and restart the service. The snippets then use them.
    </p>
  );
}
