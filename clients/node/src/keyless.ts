/** The upload token: a setting, or the job's own ID token exchanged for one. */

import type { Environ } from "./ci/job.js";
import * as validate from "./ci/validate.js";
import { CallError, InvalidInputError, UnauthorizedError } from "./errors.js";
import { refuseRedirect } from "./image_address.js";
import { jsonOf, type Sender } from "./sender.js";
import { called, message } from "./statements.js";

export interface TokenSource {
  token(): Promise<string>;
  /** Return a new token after the service refused this one; nothing when there is no other. */
  renew(refused: string): Promise<string | undefined>;
}

const UPLOAD_TOKEN = /^msr_[0-9a-f]{64}$/;

/** Return the given token; without one, a token that the job's ID token is exchanged for. */
export function tokenSource(
  url: string,
  token: string,
  project: string,
  environ: Environ,
  sender: Sender,
): TokenSource {
  const given = token.trim(); // a secret is often stored with a line break at its end
  if (given) {
    if (!UPLOAD_TOKEN.test(given))
      throw new InvalidInputError(message("invalid_token", { count: given.length }));
    return { token: async () => given, renew: async () => undefined };
  }
  const idToken = idTokenSource(url, environ, sender);
  if (!idToken)
    throw new InvalidInputError(
      "no upload token: set PRSHOTS_TOKEN, or give the job an ID token " +
        `(GitHub: permissions: id-token: write; GitLab: id_tokens: {PRSHOTS_ID_TOKEN: {aud: ${url}}})`,
    );
  return new ExchangedToken(async () => exchangeToken(url, await idToken(), project, sender));
}

/** A token that is valid for 15 minutes. It is requested once, however many uploads wait for it. */
class ExchangedToken implements TokenSource {
  #current: Promise<string> | undefined;

  constructor(private readonly exchange: () => Promise<string>) {}

  token(): Promise<string> {
    this.#current ??= this.#exchange();
    return this.#current;
  }

  async renew(refused: string): Promise<string | undefined> {
    if ((await this.#current) === refused) this.#current = this.#exchange();
    return this.token();
  }

  /** A failed exchange is not kept: the next upload tries again. */
  #exchange(): Promise<string> {
    return this.exchange().catch((error) => {
      this.#current = undefined;
      throw error;
    });
  }
}

function idTokenSource(url: string, environ: Environ, sender: Sender): (() => Promise<string>) | undefined {
  const given = validate.token(environ.PRSHOTS_ID_TOKEN ?? "");
  if (given) return async () => given;
  const address = validate.address(environ.ACTIONS_ID_TOKEN_REQUEST_URL);
  const secret = validate.token(environ.ACTIONS_ID_TOKEN_REQUEST_TOKEN ?? "");
  if (!address || !secret || !URL.canParse(address)) return undefined;
  const asked = new URL(address);
  asked.searchParams.set("audience", url);
  return async () => {
    const headers = { Authorization: `bearer ${secret}`, Accept: "application/json" };
    const reply = await sender.send(asked.href, () => ({ headers }));
    const { value } = (jsonOf(reply, asked.host) ?? {}) as { value?: unknown };
    if (reply.status !== 200 || typeof value !== "string" || !value)
      throw new CallError(message("no_id_token", { host: asked.host, status: reply.status }));
    return value;
  };
}

async function exchangeToken(url: string, idToken: string, project: string, sender: Sender): Promise<string> {
  const body = JSON.stringify({ id_token: idToken, ...(project && { project }) });
  const headers = { "Content-Type": "application/json" };
  const reply = await sender.send(`${url}/v1/oidc/token`, () => ({ method: "POST", headers, body }));
  refuseRedirect(url, reply);
  if (reply.status === 401)
    throw new UnauthorizedError(
      `${url} did not accept this job's ID token; the service's log says why. Check that the project trusts this ` +
        "issuer with the job's repository, ref and environment; that the ID token's audience is " +
        `${url}; and that ${called("--project")} is organization/name or the project's id`,
    );
  const granted = (jsonOf(reply, url) ?? {}) as Record<string, unknown>;
  const { token, error } = granted;
  if (reply.status !== 200)
    throw new CallError(
      `${url} answered ${reply.status} to this job's ID token: ${String(error ?? "no reason given").slice(0, 300)}`,
    );
  if (typeof token !== "string" || !UPLOAD_TOKEN.test(token))
    throw new CallError(`${url} answered without a token: is it the address of a prshots API?`);
  if (project && !namesOfProject(granted).includes(project))
    throw new CallError(
      message("other_project", { url, given: `${granted.organization}/${granted.project}`, project }),
    );
  return token;
}

/** How a job can name the project that a token is for. A name alone counts in the organization `local` only. */
function namesOfProject({ project_id, organization, project }: Record<string, unknown>): unknown[] {
  return [project_id, `${organization}/${project}`, ...(organization === "local" ? [project] : [])];
}
