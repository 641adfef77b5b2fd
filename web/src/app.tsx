import type { ComponentChild } from "preact";
import { BaselinesPage } from "./baselines/baselines-page";
import { JoinPage } from "./join/join-page";
import { useLive } from "./lib/live";
import { MeContext } from "./lib/me";
import { includesRole } from "./lib/roles";
import { match, useLocation } from "./lib/router";
import type { Me, Project, Role } from "./lib/types";
import { ProjectRole } from "./lib/use-may";
import { Management } from "./management/management";
import { NoisePage } from "./noise/noise-page";
import { QuarantinePage } from "./noise/quarantine-page";
import { ProjectsPage } from "./projects/projects-page";
import { PullPage } from "./pull/pull-page";
import { PullsPage } from "./pulls/pulls-page";
import { SHARED, SharedPage } from "./shared/shared-page";
import { Banner } from "./shell/banner";
import { Header } from "./shell/header";
import { NeedsRolePage } from "./shell/needs-role-page";
import { NoAccessPage } from "./shell/no-access-page";
import { NotFoundPage } from "./shell/not-found-page";
import { SignInPage } from "./sign-in/sign-in-page";
import { StagedPage } from "./staged/staged-page";
import { ConfirmHost, FailedPage, Loading, neededRole, PROJECT_TABS, Toasts } from "./ui";

/** The gallery uses the whole width of a large screen. */
const PULL = "/projects/:id/prs/:n";

export function App() {
  const { path } = useLocation();
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it goes to the content, and keeps the address */}
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      {path === "/sign-in" && <SignInPage />}
      {path === SHARED && <SharedPage />}
      {path !== "/sign-in" && path !== SHARED && <SignedIn path={path} />}
      <ConfirmHost />
      <Toasts />
    </>
  );
}

/** Keeps the address, whose fragment may be the secret of a share link. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function SignedIn({ path }: { path: string }) {
  const { data: me, error, refresh } = useLive<Me>("/me");
  return (
    <>
      <Banner />
      <Header me={me} />
      <main id="main" class={`page ${match(PULL, path) ? "wide" : ""}`} tabIndex={-1}>
        {me && <MeContext.Provider value={me}>{pageAt(path)}</MeContext.Provider>}
        {!me && (error ? <FailedPage error={error} retry={refresh} /> : <Loading rows={4} />)}
      </main>
    </>
  );
}

function pageAt(path: string): ComponentChild {
  if (path === "/") return <ProjectsPage />;
  if (path === "/join") return <JoinPage />;
  if (/^\/(installation|organizations)(\/|$)/.test(path)) return <Management path={path} />;
  const pull = match(PULL, path);
  if (pull) return inProject(pull.id, pullPage(path, pull.id, pull.n));
  const project = match("/projects/:id", path);
  if (project) return inProject(project.id, <PullsPage key={path} projectId={project.id} />);
  const part = match("/projects/:id/:part", path);
  if (part) {
    const needs = neededRole(PROJECT_TABS, part.part);
    return inProject(part.id, projectPage(path, part.id, part.part), needs);
  }
  return <NotFoundPage />;
}

const inProject = (projectId: string, page: ComponentChild, needs?: Role) => (
  <InProject key={projectId} projectId={projectId} page={page} needs={needs} />
);

interface InProjectProps {
  projectId: string;
  page: ComponentChild;
  needs: Role | undefined;
}

/** A project's page, or what to do if this user can't see the project. */
function InProject({ projectId, page, needs }: InProjectProps) {
  const { data: project, error } = useLive<Project>(`/projects/${projectId}`);
  if (error?.status === 404) return <NoAccessPage what="project" />;
  if (project && needs && !includesRole(project.role, needs))
    return <NeedsRolePage title={project.name} {...project} needs={needs} projectId={projectId} />;
  return <ProjectRole.Provider value={project?.role ?? "viewer"}>{page}</ProjectRole.Provider>;
}

function pullPage(path: string, projectId: string, number: string): ComponentChild {
  if (!/^[1-9]\d{0,9}$/.test(number)) return <NotFoundPage />;
  return <PullPage key={path} projectId={projectId} prNumber={Number(number)} />;
}

function projectPage(path: string, projectId: string, part: string): ComponentChild {
  switch (part) {
    case "baselines":
      return <BaselinesPage key={path} projectId={projectId} />;
    case "staged":
      return <StagedPage key={path} projectId={projectId} />;
    case "noise":
      return <NoisePage key={path} projectId={projectId} />;
    case "quarantine":
      return <QuarantinePage key={path} projectId={projectId} />;
    default:
      return <Management path={path} />;
  }
}
