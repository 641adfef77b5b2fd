/** The pages for people who manage projects and organizations. They are a separate script. */

import type { ComponentChild } from "preact";
import { AuditPage, InstallationAuditPage } from "../audit/audit-page";
import { InstallationPage } from "../installation/installation-page";
import { match } from "../lib/router";
import { OrganizationPage } from "../organization/organization-page";
import { SettingsPage } from "../settings/settings-page";
import { SetupPage } from "../setup/setup-page";
import { NotFoundPage } from "../shell/not-found-page";
import { TokensPage } from "../tokens/tokens-page";
import { OrganizationUsagePage } from "../usage/organization-usage-page";
import { UsagePage } from "../usage/usage-page";
import { WebhooksPage } from "../webhooks/webhooks-page";

export function managementPage(path: string): ComponentChild {
  const project = match("/projects/:id/:part", path);
  if (project) return projectPage(path, project.id, project.part);
  const organization = match("/organizations/:id", path);
  if (organization) return <OrganizationPage key={path} organizationId={organization.id} />;
  const part = match("/organizations/:id/:part", path);
  if (part) return organizationPage(path, part.id, part.part);
  if (path === "/installation/audit") return <InstallationAuditPage key={path} />;
  return path === "/installation" ? <InstallationPage /> : <NotFoundPage />;
}

function organizationPage(path: string, organizationId: string, part: string): ComponentChild {
  switch (part) {
    case "usage":
      return <OrganizationUsagePage key={path} organizationId={organizationId} />;
    case "webhooks":
      return <WebhooksPage key={path} organizationId={organizationId} />;
    case "audit":
      return <AuditPage key={path} organizationId={organizationId} />;
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
