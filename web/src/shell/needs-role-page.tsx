import { ROLE_TEXTS } from "../lib/roles";
import { Link } from "../lib/router";
import type { Project, Role } from "../lib/types";
import { PageHead } from "../ui";

interface NeedsRolePageProps extends Pick<Project, "organization" | "role"> {
  title: string;
  needs: Role;
  /** The project whose page it is, if any. */
  projectId?: string;
}

/** In place of a page that the user's role doesn't include. */
export function NeedsRolePage({ title, organization, role, needs, projectId }: NeedsRolePageProps) {
  return (
    <>
      <PageHead title={title} crumbs={[{ href: "/", label: "Projects" }]}>
        This page is for {needs}s of {organization.name}. You’re {ROLE_TEXTS[role].one}.
      </PageHead>
      <div class="stack">
        <p>To get access, ask an owner of the organization to change your role.</p>
        <p class="links">
          <Link href={`/organizations/${organization.id}`}>Show members</Link>
          {projectId && <Link href={`/projects/${projectId}`}>Show pull requests</Link>}
        </p>
      </div>
    </>
  );
}
