/** What the options and PRSHOTS_… variables say about the forge, instead of the CI. */
import { InvalidInputError } from "../errors.js";
import { called } from "../statements.js";
import { apiRoot, forgeToken, kindOfApi } from "./forge_addresses.js";
import { type Environ, FORGES, type ForgeKind, type Job } from "./job.js";
import * as validate from "./validate.js";

export interface ForgeGiven {
  kind?: ForgeKind | undefined;
  api?: string;
  repository?: string;
  token?: string;
}

/** Return the job with what was given instead of what the CI says. Throws InvalidInputError. */
export function withForge(found: Job, environ: Environ, given: ForgeGiven): Job {
  const { kind, api = "", repository = "", token = "" } = given;
  const job = { ...atForge(found, environ, kind, api.trim()) };
  if (repository.trim()) job.repository = checkedRepository(repository, job.forge);
  if (token.trim()) {
    job.forgeToken = validate.token(token);
    if (!job.forgeToken)
      throw new InvalidInputError(
        `${called("--forge-token")} is invalid: a token has no spaces, line breaks or other control characters`,
      );
  }
  return job;
}

function atForge(job: Job, environ: Environ, givenKind: ForgeKind | undefined, givenApi: string): Job {
  const api = validate.root(givenApi);
  if (givenApi && !api)
    throw new InvalidInputError(
      `${called("--forge-url")} is invalid: set the root of the forge's API, such as ` +
        "https://gitlab.example.com/api/v4, without a user name and password",
    );
  const kind = givenKind ?? (api ? kindOfApi(api) : undefined) ?? job.forge;
  if (api && !kind)
    throw new InvalidInputError(
      `${called("--forge-url")} doesn't say which forge it is: set ${called("--forge")} to ${FORGES.join(", ")}`,
    );
  if (!kind || (kind === job.forge && !api)) return job;
  const moved = kind === job.forge ? job : atOtherForge(job, environ, kind);
  const forgeApi = api || apiRoot(kind, moved.forgeUrl);
  if (!forgeApi)
    throw new InvalidInputError(
      `which ${kind}? Set ${called("--forge-url")} to the root of its API: https://HOST/api/v1`,
    );
  return { ...moved, forgeApi, isForgeGuessed: moved.isForgeGuessed && !api };
}

/** What the CI says is about another forge, such as a mirror, unless it did not say which kind its forge is. */
function atOtherForge(job: Job, environ: Environ, forge: ForgeKind): Job {
  const isSame = job.forge === undefined;
  return {
    ...job,
    forge,
    forgeUrl: isSame ? job.forgeUrl : "",
    repository: isSame ? job.repository : "",
    forgeToken: forgeToken(forge, environ),
  };
}

function checkedRepository(given: string, kind: ForgeKind | undefined): string {
  const repository = validate.repository(given);
  const isOne = kind === "gitlab" || repository.split("/").length === 2;
  if (!repository || !isOne)
    throw new InvalidInputError(
      `${called("--repository")} is invalid: set owner/name, on GitLab also a project's id; ` +
        `got "${given.slice(0, 100)}"`,
    );
  return repository;
}
