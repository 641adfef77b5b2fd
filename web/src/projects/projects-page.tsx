import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { formatBytes, formatNumber } from "../lib/format";
import { usePages } from "../lib/live";
import { useMe } from "../lib/me";
import { includesRole } from "../lib/roles";
import { Link, navigate } from "../lib/router";
import type { Organization, Project } from "../lib/types";
import { Invitations } from "../organization/invitations";
import {
  Bars,
  Button,
  describeUploads,
  Empty,
  Failed,
  Field,
  Loading,
  MoreButton,
  NameField,
  PageHead,
  Time,
  toast,
  useAction,
} from "../ui";

const projectId = (project: Project) => project.id;

export function ProjectsPage() {
  const { items, more, loading, loaded, error, refresh } = usePages("/projects", "projects", projectId);
  const first = loaded && items.length === 0;
  return (
    <>
      <PageHead title="Projects" actions={!first && <NewProject />} />
      <Invitations />
      {first && <FirstSteps />}
      {first && <NewProject first />}
      {loading && <Loading rows={3} tall />}
      {error && !loaded && <Failed error={error} retry={refresh} />}
      <ul class="projects">
        {items.map((project) => (
          <ProjectCard key={project.id} project={project} />
        ))}
      </ul>
      <MoreButton more={more} noun="projects" />
    </>
  );
}

function ProjectCard({ project }: { project: Project }) {
  return (
    <li class="project">
      <div class="project-name">
        <h2>
          <Link href={`/projects/${project.id}`}>{project.name}</Link>
        </h2>
        <span class="quiet small">{project.organization.name}</span>
      </div>
      <Bars values={project.uploads_per_day} label={describeUploads(project.uploads_per_day)} />
      <dl class="figures">
        <Figure label="Images">{formatNumber(project.images)}</Figure>
        <Figure label="Open PRs">{formatNumber(project.open_pulls)}</Figure>
        <Figure label="Stored">{formatBytes(project.bytes)}</Figure>
        <Figure label="Last upload">
          {project.last_upload_at === null ? "Never" : <Time at={project.last_upload_at} />}
        </Figure>
      </dl>
    </li>
  );
}

function Figure({ label, children }: { label: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function FirstSteps() {
  return (
    <Empty title="Get screenshots into your pull requests">
      <ol class="steps">
        <li>Create a project, usually one per repository.</li>
        <li>Create an upload token and store it in your CI as the secret PRSHOTS_TOKEN.</li>
        <li>Copy the snippet for your CI from the project’s Setup page. The first upload appears here.</li>
      </ol>
    </Empty>
  );
}

function NewProject({ first = false }: { first?: boolean }) {
  const organizations = useMe().organizations.filter(({ role }) => includesRole(role, "maintainer"));
  const [name, setName] = useState("");
  const [organizationId, setOrganizationId] = useState(ownOrganization(organizations)?.id ?? "");
  const action = useAction({ inPlace: true });
  const create = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      const body = { organization_id: organizationId, name: name.trim() };
      const project = await send<Project>("POST", "/projects", body);
      toast(`Created ${project.name}. Set up the first upload here.`);
      navigate(`/projects/${project.id}/setup`);
    });
  };
  if (organizations.length === 0) return null;
  return (
    <form class="inline-form new-project" onSubmit={create}>
      <NameField
        label={first ? "Your first project" : "New project"}
        error={action.problem}
        value={name}
        placeholder="web-shop"
        onInput={setName}
      />
      {organizations.length > 1 && (
        <OrganizationChoice
          organizations={organizations}
          value={organizationId}
          onChange={setOrganizationId}
        />
      )}
      <Button type="submit" kind={first ? "primary" : "plain"} busy={action.busy}>
        Create project
      </Button>
    </form>
  );
}

/** The user's own organization. The operator has none, but owns `local`. */
function ownOrganization(organizations: Organization[]): Organization | undefined {
  return organizations.find(({ personal }) => personal) ?? organizations.find(({ id }) => id === "local");
}

interface OrganizationChoiceProps {
  organizations: Organization[];
  value: string;
  onChange: (id: string) => void;
}

function OrganizationChoice({ organizations, value, onChange }: OrganizationChoiceProps) {
  return (
    <Field label="Organization">
      {(field) => (
        <select {...field} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {organizations.map(({ id, name, personal }) => (
            <option key={id} value={id}>
              {personal ? `${name} (personal)` : name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
