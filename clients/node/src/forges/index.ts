/** Which forge a job's pull request is on. */
import { whyNoToken } from "../ci/forge_addresses.js";
import { FORGES, type ForgeKind, type Job } from "../ci/job.js";
import { InvalidInputError } from "../errors.js";
import type { Sender } from "../sender.js";
import { called } from "../statements.js";
import { Bitbucket } from "./bitbucket.js";
import type { Access, Forge } from "./forge.js";
import { forkAdvice } from "./forks.js";
import { Gitea } from "./gitea.js";
import { GitHub } from "./github.js";
import { GitLab } from "./gitlab.js";

const KINDS: Record<ForgeKind, { label: string; open(access: Access): Forge }> = {
  github: { label: "GitHub", open: (access) => new GitHub(access) },
  gitlab: { label: "GitLab", open: (access) => new GitLab(access) },
  gitea: { label: "Gitea", open: (access) => new Gitea(access) },
  bitbucket: { label: "Bitbucket", open: (access) => new Bitbucket(access) },
};

/** Return the job's repository. Throws InvalidInputError when something is missing. */
export function forgeOf(job: Job, sender: Sender): Forge {
  if (!job.forge)
    throw new InvalidInputError(`no forge detected: set ${called("--forge")} to one of ${FORGES.join(", ")}`);
  const { label, open } = KINDS[job.forge];
  if (!job.repository)
    throw new InvalidInputError(
      `no ${label} repository detected: set ${called("--repository")}, such as owner/name`,
    );
  if (!URL.canParse(job.forgeApi))
    throw new InvalidInputError(
      `no ${label} address detected: set ${called("--forge-url")} to the root of its API`,
    );
  if (!job.forgeToken)
    throw new InvalidInputError(`no token for ${label}: set ${called("--forge-token")}${tokenAdvice(job)}`);
  const problem = whyNoToken(job);
  if (problem) throw new InvalidInputError(problem);
  return open({ api: job.forgeApi, repository: job.repository, token: job.forgeToken, sender });
}

function tokenAdvice(job: Job): string {
  const forFork = forkAdvice(job);
  if (forFork) return `. ${forFork}`;
  if (job.forge !== "github" && job.forge !== "gitea") return "";
  const { label } = KINDS[job.forge];
  return `; in ${label} Actions, set env: GITHUB_TOKEN: \${{ github.token }} in the step`;
}
