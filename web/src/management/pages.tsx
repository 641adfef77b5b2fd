/** The pages for people who manage projects and organizations. They are a separate script. */

import type { ComponentChild } from "preact";
import { AuditPage, InstallationAuditPage } from "../audit/audit-page";
import { InstallationPage } from "../installation/installation-page";
import { useMe } from "../lib/me";
import { includesRole } from "../lib/roles";
import { match } from "../lib/router";
import { OrganizationPage } from "../organization/organization-page";
import { SettingsPage } from "../settings/settings-page";
import { SetupPage } from "../setup/setup-page";
import { NeedsRolePage } from "../shell/needs-role-page";
import { NoAccessPage } from "../shell/no-access-page";
import { NotFoundPage } from "../shell/not-found-page";
import { TokensPage } from "../tokens/tokens-page";
import { neededRole, ORGANIZATION_TABS } from "../ui";
import { OrganizationUsagePage } from "../usage/organization-usage-page";
import { UsagePage } from "../usage/usage-page";
import { WebhooksPage } from "../webhooks/webhooks-page";

export function managementPage(path: string): ComponentChild {
  const project = match("/projects/:id/:part", path);
  if (project) return projectPage(path, project.id, project.part);
  const organization = match("/organizations/:id", path);
  if (organization) return <InOrganization key={path} organizationId={organization.id} part="" />;
  const part = match("/organizations/:id/:part", path);
  if (part) return <InOrganization key={path} organizationId={part.id} part={part.part} />;
  if (path === "/installation/audit") return <InstallationAuditPage key={path} />;
  return path === "/installation" ? <InstallationPage /> : <NotFoundPage />;
}

/** An organization's page, or what to do if this user can't see it. */
function InOrganization({ organizationId, part }: { organizationId: string; part: string }) {
  const organization = useMe().organizations.find(({ id }) => id === organizationId);
  if (!organization) return <NoAccessPage what="organization" />;
  const { name, role } = organization;
  const needs = neededRole(ORGANIZATION_TABS, part);
  if (needs && !includesRole(role, needs))
    return <NeedsRolePage title={name} {...{ organization, role, needs }} />;
  switch (part) {
    case "":
      return <OrganizationPage organization={organization} />;
    case "usage":
      return <OrganizationUsagePage organization={organization} />;
    case "webhooks":
      return <WebhooksPage organization={organization} />;
    case "audit":
      return <AuditPage organization={organization} />;
    default:
      return <NotFoundPage />;
  }
}

function projectPage(path: string, projectId: string, part: string): ComponentChild {
  switch (part) {
    case "usage":
      return <UsagePage key={path} projectId={projectId} />;
    case "tokens":
      return <TokensPage key={path} projectId={projectId} />;
    case "settings":
      return <SettingsPage key={path} projectId={projectId} />;
    case "setup":
      return <SetupPage key={path} projectId={projectId} />;
    default:
      return <NotFoundPage />;
  }
}
