import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Link, takeFocus } from "../lib/router";
import type { Project } from "../lib/types";

interface Crumb {
  href: string;
  label: string;
}

interface PageHeadProps {
  title: string;
  /** The tab, for the window title and screen readers: "Tokens". */
  part?: string;
  crumbs?: Crumb[];
  actions?: ComponentChildren;
  /** A line under the title. */
  children?: ComponentChildren;
}

/** The page's h1. It takes the focus after a navigation and sets the window title. */
export function PageHead({ title, part, crumbs = [], actions, children }: PageHeadProps) {
  const pullHeading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (takeFocus()) pullHeading.current?.focus({ preventScroll: true });
  });
  useEffect(() => {
    document.title = [part, title, "prshots"].filter(Boolean).join(" · ");
  }, [part, title]);
  return (
    <div class="page-head">
      {crumbs.length > 0 && (
        <nav class="crumbs" aria-label="Breadcrumbs">
          {crumbs.map(({ href, label }) => (
            <Link key={href} href={href}>
              {label}
            </Link>
          ))}
        </nav>
      )}
      <div class="page-title">
        <h1 ref={pullHeading} tabIndex={-1}>
          {title}
          {part && <span class="hidden">: {part}</span>}
        </h1>
        {actions && <div class="page-actions">{actions}</div>}
      </div>
      {children && <div class="page-about">{children}</div>}
    </div>
  );
}

type ProjectTab =
  | "pulls"
  | "staged"
  | "baselines"
  | "noise"
  | "quarantine"
  | "usage"
  | "tokens"
  | "settings"
  | "setup";

/** Few projects have staged screenshots, so the "Staged" tab is shown only on its own page. */
const TABS: readonly { id: ProjectTab; path: string; label: string }[] = [
  { id: "pulls", path: "", label: "Pull requests" },
  { id: "staged", path: "/staged", label: "Staged" },
  { id: "baselines", path: "/baselines", label: "Baselines" },
  { id: "noise", path: "/noise", label: "Noise" },
  { id: "quarantine", path: "/quarantine", label: "Quarantine" },
  { id: "usage", path: "/usage", label: "Usage" },
  { id: "tokens", path: "/tokens", label: "Tokens" },
  { id: "settings", path: "/settings", label: "Settings" },
  { id: "setup", path: "/setup", label: "Setup" },
];

function ProjectTabs({ project, current }: { project: Pick<Project, "id">; current: ProjectTab }) {
  const tabs = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the current tab changes
  useEffect(() => {
    const link = tabs.current?.querySelector<HTMLElement>("[aria-current]");
    if (tabs.current && link) tabs.current.scrollLeft = link.offsetLeft - tabs.current.clientWidth / 2;
  }, [current]);
  return (
    <nav ref={tabs} class="tabs" aria-label="Project">
      {TABS.filter(({ id }) => id !== "staged" || id === current).map(({ id, path, label }) => (
        <Link
          key={id}
          href={`/projects/${project.id}${path}`}
          {...(id === current ? { "aria-current": "page" as const } : {})}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

interface ProjectHeadProps {
  projectId: string;
  project: Project | undefined;
  current: ProjectTab;
  actions?: ComponentChildren;
}

/** The head of every page of a project. It is shown before the project has loaded. */
export function ProjectHead({ projectId, project, current, actions }: ProjectHeadProps) {
  const crumbs: Crumb[] = [{ href: "/", label: "Projects" }];
  if (project) {
    crumbs.push({ href: `/organizations/${project.organization.id}`, label: project.organization.name });
  }
  const part = TABS.find(({ id }) => id === current)?.label ?? "";
  return (
    <>
      <PageHead title={project?.name ?? "…"} part={part} crumbs={crumbs} actions={actions} />
      <ProjectTabs project={{ id: projectId }} current={current} />
    </>
  );
}
