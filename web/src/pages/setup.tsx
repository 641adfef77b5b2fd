import { useLive } from "../lib/live";
import { useMe } from "../lib/me";
import { Link, useLocation } from "../lib/router";
import { commandSnippets, curlSnippets, githubSnippets, gitlabSnippets, type Snippet } from "../lib/snippets";
import type { Project } from "../lib/types";
import { CopyButton, FailedPage, Mono, ProjectHead } from "../ui";
import { IssueToken } from "../ui/issue-token";

const WAYS = [
  { id: "github", label: "GitHub Actions" },
  { id: "gitlab", label: "GitLab CI" },
  { id: "curl", label: "curl" },
  { id: "cli", label: "Command line" },
] as const;

type Way = (typeof WAYS)[number]["id"];

export function SetupPage({ projectId }: { projectId: string }) {
  const { data: project, error, refresh } = useLive<Project>(`/projects/${projectId}`);
  const asked = useLocation().query.get("with");
  const way = WAYS.find(({ id }) => id === asked)?.id ?? "github";
  if (error && !project) return <FailedPage error={error} retry={refresh} />;
  return (
    <>
      <ProjectHead projectId={projectId} project={project} current="setup" />
      <section class="section split">
        <h2>
          <span class="step-number">1</span> A token
        </h2>
        <div class="stack">
          <p>
            Issue one, and keep it in your CI as the secret <Mono>PRSHOTS_TOKEN</Mono>. Every snippet below
            reads it from there.
          </p>
          <IssueToken projectId={projectId} />
          <p>
            <Link href={`/projects/${projectId}/tokens`}>All tokens</Link>
          </p>
        </div>
      </section>
      <section class="section split">
        <h2>
          <span class="step-number">2</span> The upload
        </h2>
        <div class="stack wide">
          <Ways projectId={projectId} current={way} />
          <Snippets way={way} projectName={project?.name ?? ""} />
        </div>
      </section>
    </>
  );
}

function Ways({ projectId, current }: { projectId: string; current: Way }) {
  return (
    <nav class="segments" aria-label="Upload with">
      {WAYS.map(({ id, label }) => (
        <Link
          key={id}
          href={`/projects/${projectId}/setup?with=${id}`}
          replace
          {...(id === current ? { "aria-current": "true" as const } : {})}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function Snippets({ way, projectName }: { way: Way; projectName: string }) {
  const { base_url: baseUrl } = useMe().service;
  const snippets = {
    curl: () => curlSnippets(baseUrl),
    github: () => githubSnippets(baseUrl),
    gitlab: () => gitlabSnippets(baseUrl),
    cli: () => commandSnippets(projectName),
  }[way]();
  return (
    <>
      {way !== "cli" && <Local baseUrl={baseUrl} />}
      {snippets.map((snippet) => (
        <SnippetBlock key={snippet.title} snippet={snippet} />
      ))}
    </>
  );
}

function SnippetBlock({ snippet }: { snippet: Snippet }) {
  return (
    <div class="snippet">
      <div class="snippet-head">
        <h3>{snippet.title}</h3>
        <CopyButton text={snippet.code} label="Copy" />
      </div>
      <p class="quiet">{snippet.about}</p>
      {snippet.file && (
        <p class="snippet-file">
          <Mono>{snippet.file}</Mono>
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{snippet.code}</code>
      </pre>
    </div>
  );
}

/** A CI runner elsewhere cannot reach an address that only means this machine. */
function Local({ baseUrl }: { baseUrl: string }) {
  const { hostname } = new URL(baseUrl);
  if (hostname !== "localhost" && hostname !== "127.0.0.1") return null;
  return (
    <p class="warning">
      {baseUrl} means this machine alone. For a CI elsewhere, and for whoever reads the pull request, start
      the service with PRSHOTS_BASE_URL and PRSHOTS_IMG_URL that they can reach; the snippets follow.
    </p>
  );
}
