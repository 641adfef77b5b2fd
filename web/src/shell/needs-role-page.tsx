import { ROLE_TEXTS } from "../lib/roles";
import { Link } from "../lib/router";
import type { Project, Role } from "../lib/types";
import { PageHead } from "../ui";

/** In place of a project's page that the user's role doesn't include. */
export function NeedsRolePage({ project, needs }: { project: Project; needs: Role }) {
  const { organization, role } = project;
  return (
    <>
      <PageHead title={project.name} crumbs={[{ href: "/", label: "Projects" }]}>
        This page is for {needs}s of {organization.name}. You’re {ROLE_TEXTS[role].one}.
      </PageHead>
      <div class="stack">
        <p>To get access, ask an owner of the organization to change your role.</p>
        <p class="links">
          <Link href={`/organizations/${organization.id}`}>Show members</Link>
          <Link href={`/projects/${project.id}`}>Show pull requests</Link>
        </p>
      </div>
    </>
  );
}
