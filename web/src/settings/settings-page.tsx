import { useLive } from "../lib/live";
import type { Project } from "../lib/types";
import { FailedPage, Loading, ProjectHead } from "../ui";
import { ComparisonSettings } from "./comparison-settings";
import { ConnectionSettings } from "./connection-settings";
import { DeleteProject } from "./delete-project";
import { NameSettings, RepositorySettings } from "./name-settings";
import { RetentionSettings } from "./retention-settings";
import { ReviewSettings } from "./review-settings";
import { UploadSettings } from "./upload-settings";

export function SettingsPage({ projectId }: { projectId: string }) {
  const { data: project, error, refresh } = useLive<Project>(`/projects/${projectId}`);
  if (error && !project) return <FailedPage error={error} retry={refresh} />;
  return (
    <>
      <ProjectHead projectId={projectId} project={project} current="settings" />
      {!project && <Loading rows={6} />}
      {project && (
        <>
          <NameSettings project={project} onSaved={refresh} />
          <RepositorySettings project={project} onSaved={refresh} />
          <ReviewSettings project={project} onSaved={refresh} />
          {project.role === "owner" && <ConnectionSettings project={project} />}
          <RetentionSettings project={project} onSaved={refresh} />
          <ComparisonSettings project={project} onSaved={refresh} />
          <UploadSettings project={project} onSaved={refresh} />
          {project.role === "owner" && <DeleteProject project={project} />}
        </>
      )}
    </>
  );
}
