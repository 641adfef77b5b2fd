import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { includesRole } from "../lib/roles";
import { Link, takeFocus } from "../lib/router";
import type { Organization, Project, Role } from "../lib/types";
import { QuotaBanner } from "./quotas";

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

interface Tab {
  id: string;
  path: string;
  label: string;
  /** The role that the tab's page needs. */
  needs?: Role;
}

/** Few projects have staged screenshots, so the "Staged" tab is shown only on its own page. */
export const PROJECT_TABS = [
  { id: "pulls", path: "", label: "Pull requests" },
  { id: "staged", path: "/staged", label: "Staged" },
  { id: "baselines", path: "/baselines", label: "Baselines" },
  { id: "noise", path: "/noise", label: "Noise" },
  { id: "quarantine", path: "/quarantine", label: "Quarantine" },
  { id: "usage", path: "/usage", label: "Usage" },
  { id: "tokens", path: "/tokens", label: "Tokens", needs: "maintainer" },
  { id: "settings", path: "/settings", label: "Settings", needs: "maintainer" },
  { id: "setup", path: "/setup", label: "Setup", needs: "maintainer" },
] as const satisfies readonly Tab[];

export const ORGANIZATION_TABS = [
  { id: "members", path: "", label: "Members" },
  { id: "usage", path: "/usage", label: "Usage" },
  { id: "webhooks", path: "/webhooks", label: "Webhooks", needs: "owner" },
  { id: "audit", path: "/audit", label: "Audit log", needs: "owner" },
] as const satisfies readonly Tab[];

const INSTALLATION_TABS = [
  { id: "organizations", path: "", label: "Organizations" },
  { id: "audit", path: "/audit", label: "Audit log" },
] as const satisfies readonly Tab[];

/** The role that the page of a tab needs, if a viewer can't open it. */
export const neededRole = (tabs: readonly Tab[], tabId: string): Role | undefined =>
  tabs.find(({ id }) => id === tabId)?.needs;

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** The path that the tabs' paths continue. */
  base: string;
  current: string;
  /** The role of the signed-in user. Only tabs that it includes are shown. */
  role?: Role;
}

function Tabs({ label, tabs, base, current, role = "owner" }: TabsProps) {
  const list = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the current tab changes
  useEffect(() => {
    const link = list.current?.querySelector<HTMLElement>("[aria-current]");
    if (list.current && link) list.current.scrollLeft = link.offsetLeft - list.current.clientWidth / 2;
  }, [current]);
  const isShown = ({ id, needs = "viewer" }: Tab) =>
    id === current || (id !== "staged" && includesRole(role, needs));
  return (
    <nav ref={list} class="tabs" aria-label={label}>
      {tabs.filter(isShown).map(({ id, path, label: title }) => (
        <Link
          key={id}
          href={`${base}${path}`}
          {...(id === current ? { "aria-current": "page" as const } : {})}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}

interface ProjectHeadProps {
  projectId: string;
  project: Project | undefined;
  current: (typeof PROJECT_TABS)[number]["id"];
  actions?: ComponentChildren;
}

/** The head of every page of a project. It is shown before the project has loaded. */
export function ProjectHead({ projectId, project, current, actions }: ProjectHeadProps) {
  const crumbs: Crumb[] = [{ href: "/", label: "Projects" }];
  if (project) {
    crumbs.push({ href: `/organizations/${project.organization.id}`, label: project.organization.name });
  }
  const part = PROJECT_TABS.find(({ id }) => id === current)?.label ?? "";
  const tabs = { label: "Project", tabs: PROJECT_TABS, base: `/projects/${projectId}`, current };
  return (
    <>
      <PageHead title={project?.name ?? "…"} part={part} crumbs={crumbs} actions={actions} />
      <Tabs {...tabs} role={project?.role ?? "viewer"} />
      {project && includesRole(project.role, "maintainer") && current !== "usage" && (
        <QuotaBanner base={`/projects/${projectId}`} />
      )}
    </>
  );
}

interface OrganizationHeadProps {
  organization: Organization;
  current: (typeof ORGANIZATION_TABS)[number]["id"];
  children?: ComponentChildren;
}

/** The head of every page of an organization. */
export function OrganizationHead({ organization, current, children }: OrganizationHeadProps) {
  const part = ORGANIZATION_TABS.find(({ id }) => id === current)?.label ?? "";
  const tabs = { label: "Organization", tabs: ORGANIZATION_TABS, current };
  return (
    <>
      <PageHead title={organization.name} part={part} crumbs={[{ href: "/", label: "Projects" }]}>
        {children}
      </PageHead>
      <Tabs {...tabs} base={`/organizations/${organization.id}`} role={organization.role} />
      {includesRole(organization.role, "maintainer") && current !== "usage" && (
        <QuotaBanner base={`/organizations/${organization.id}`} />
      )}
    </>
  );
}

interface InstallationHeadProps {
  current: (typeof INSTALLATION_TABS)[number]["id"];
  children?: ComponentChildren;
}

/** The head of the operator's pages. */
export function InstallationHead({ current, children }: InstallationHeadProps) {
  const part = INSTALLATION_TABS.find(({ id }) => id === current)?.label ?? "";
  const tabs = { label: "Installation", tabs: INSTALLATION_TABS, base: "/installation", current };
  return (
    <>
      <PageHead title="Installation" part={part}>
        {children}
      </PageHead>
      <Tabs {...tabs} />
    </>
  );
}
