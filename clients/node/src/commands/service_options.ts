/** What the commands that call a service and a forge have in common. */

import { detectJob } from "../ci/detection.js";
import { isPublic } from "../ci/forge_addresses.js";
import { type Environ, FORGES, type Job } from "../ci/job.js";
import { withForge } from "../ci/overrides.js";
import * as validate from "../ci/validate.js";
import { CONTRACT } from "../contract.js";
import { InvalidInputError } from "../errors.js";
import { tokenSource } from "../keyless.js";
import { Sender, TRIES } from "../sender.js";
import { Service } from "../service.js";
import { called, message } from "../statements.js";
import { quote } from "../wording.js";
import type { Context, ForgeOptions, ServiceOptions } from "./types.js";

/** Return the job that runs the command. */
export function jobOf({ job, environ }: Context): Job {
  return job ?? detectJob(environ);
}

/** Return a sender for the service or for a forge. */
export function senderOf({ stopped, say, deadline }: Context): Sender {
  return new Sender(stopped, TRIES, say, undefined, deadline);
}

/** Return when a command that starts now must end, as a Unix time in seconds. Throws InvalidInputError. */
export function deadlineIn({ timeout }: { timeout?: string }, environ: Environ): number {
  const { largest, default: usual } = CONTRACT.options.timeout;
  const read = (given: unknown) => {
    const seconds = validate.prNumber(given); // any number, checked in the same way
    return seconds !== undefined && seconds <= largest ? seconds : undefined;
  };
  const takes = `seconds from 1 to ${largest}`;
  const given = timeout ?? environ.PRSHOTS_TIMEOUT;
  return Date.now() / 1000 + (checked(called("--timeout"), given, read, takes) ?? usual);
}

/** Return a client of the service. Throws InvalidInputError if the URL or the token is invalid. */
export function connect(options: ServiceOptions, context: Context): Service {
  const { environ } = context;
  const url = serviceAddress(options.url || (environ.PRSHOTS_URL ?? ""));
  const token = options.token || (environ.PRSHOTS_TOKEN ?? "");
  const project = (options.project || (environ.PRSHOTS_PROJECT ?? "")).trim();
  const sender = senderOf(context);
  return new Service(url, tokenSource(url, token, project, environ, sender), sender);
}

function serviceAddress(given: string): string {
  const url = given.trim();
  if (!url) throw new InvalidInputError(message("no_service_url"));
  const address = validate.root(url);
  if (address && URL.canParse(address)) return address;
  if (url.includes("@"))
    // It may contain a password, which must not be logged.
    throw new InvalidInputError(message("url_has_password"));
  const meant = url.includes("://") ? "" : validate.root(withScheme(url));
  const advice = meant ? message("did_you_mean", { meant }) : message("use_address");
  throw new InvalidInputError(message("invalid_url", { given: quote(url, 100), advice }));
}

/** Return the address that someone meant who left out the scheme. */
function withScheme(address: string): string {
  const secure = `https://${address}`;
  return URL.canParse(secure) && isPublic(secure) ? secure : `http://${address}`;
}

/** Return the job, with the given options in place of what CI says. Throws InvalidInputError. */
export function jobAtForge(job: Job, options: ForgeOptions, environ: Environ): Job {
  const takes = `one of ${FORGES.join(", ")}`;
  const kind = checked(called("--forge"), options.forge ?? environ.PRSHOTS_FORGE, forgeIn, takes);
  return withForge(job, environ, {
    kind,
    api: options.forgeUrl || (environ.PRSHOTS_FORGE_URL ?? ""),
    repository: options.repository || (environ.PRSHOTS_REPOSITORY ?? ""),
    token: options.forgeToken || (environ.PRSHOTS_FORGE_TOKEN ?? ""),
  });
}

function forgeIn(given: unknown) {
  return FORGES.find((forge) => forge === given);
}

/** Return the pull request that the option or the variable names. Throws InvalidInputError. */
export function prIn({ pr }: { pr?: number | undefined }, environ: Environ): number | undefined {
  const takes = message("pull_request_rule");
  return checked(called("--pr"), pr ?? environ.PRSHOTS_PR, validate.prNumber, takes);
}

/** Return the commit that the option or the variable names. Throws InvalidInputError. */
export function commitIn({ commit }: { commit?: string | undefined }, environ: Environ): string {
  const takes = message("commit_rule");
  return checked(called("--commit"), commit || environ.PRSHOTS_COMMIT, validate.commit, takes) ?? "";
}

/** Return the branch that the option or the variable names. Throws InvalidInputError. */
export function branchIn({ branch }: { branch?: string | undefined }, environ: Environ): string {
  const takes = message("branch_rule");
  return checked(called("--branch"), branch || environ.PRSHOTS_BRANCH, validate.branch, takes) ?? "";
}

/** Return a valid value; nothing if it is missing or empty. Throws InvalidInputError. */
export function checked<T>(
  name: string,
  given: unknown,
  read: (given: unknown) => T | undefined,
  takes: string,
): T | undefined {
  const value = typeof given === "string" ? given.trim() : given;
  if (value === undefined || value === "") return undefined;
  const found = read(value);
  if (!found) throw new InvalidInputError(`${name} is invalid: got ${quote(String(value))}; use ${takes}`);
  return found;
}
