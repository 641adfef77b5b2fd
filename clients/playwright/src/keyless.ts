/** Where the upload token comes from: a setting, or the job's own ID token, which is exchanged for one. */
import { CallError, HopelessError } from "./errors.js";
import type { Environ } from "./jobs.js";
import { jsonOf, type Sender } from "./sending.js";

export interface TokenSource {
  token(): Promise<string>;
  /** Return another one, since the service has refused this one; nothing when there is no other. */
  renewed(refused: string): Promise<string | undefined>;
}

const FORM = /^msr_[0-9a-f]{64}$/i;

/** Return the token that was given; else one that the job's ID token is exchanged for. */
export function tokenSource(
  url: string,
  token: string,
  project: string,
  environ: Environ,
  sender: Sender,
): TokenSource {
  const given = token.trim();
  if (given) {
    if (!FORM.test(given))
      throw new CallError("the token is none of prshots: one begins with msr_, and has 68 characters");
    return { token: async () => given, renewed: async () => undefined };
  }
  const idToken = idTokenSource(url, environ, sender);
  if (!idToken)
    throw new CallError(
      "no token: set PRSHOTS_TOKEN, or let the job have an ID token " +
        "(GitHub: permissions: id-token: write; GitLab: id_tokens: with PRSHOTS_ID_TOKEN)",
    );
  return new ExchangedToken(async () => exchanged(url, await idToken(), project, sender));
}

/** A token that lives for 15 minutes; asked for once, however many uploads wait for it. */
class ExchangedToken implements TokenSource {
  #current: Promise<string> | undefined;

  constructor(private readonly exchange: () => Promise<string>) {}

  token(): Promise<string> {
    this.#current ??= this.exchange();
    return this.#current;
  }

  async renewed(refused: string): Promise<string | undefined> {
    if ((await this.#current) === refused) this.#current = this.exchange();
    return this.#current;
  }
}

function idTokenSource(url: string, environ: Environ, sender: Sender): (() => Promise<string>) | undefined {
  const given = environ.PRSHOTS_ID_TOKEN?.trim();
  if (given) return async () => given;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: address, ACTIONS_ID_TOKEN_REQUEST_TOKEN: secret } = environ;
  if (!address || !secret) return undefined;
  return async () => {
    const asked = new URL(address);
    asked.searchParams.set("audience", url);
    const reply = await sender.send(asked.href, () => ({ headers: { Authorization: `bearer ${secret}` } }));
    const value = (jsonOf(reply, "GitHub Actions") as { value?: unknown } | null)?.value;
    if (reply.status !== 200 || typeof value !== "string")
      throw new HopelessError(`GitHub Actions gave no ID token: it answered ${reply.status}`);
    return value;
  };
}

async function exchanged(url: string, idToken: string, project: string, sender: Sender): Promise<string> {
  const body = JSON.stringify({ id_token: idToken, ...(project && { project }) });
  const reply = await sender.send(`${url}/v1/oidc/token`, () => ({
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  }));
  if (reply.status === 401)
    throw new HopelessError(
      `${url} does not take this job's ID token. Does the project trust its issuer, repository, ref and environment? ` +
        `Is its audience ${url}? Do several projects trust it (then set PRSHOTS_PROJECT)? The service's log has the reason`,
    );
  const token = (jsonOf(reply, url) as { token?: unknown } | null)?.token;
  if (reply.status !== 200 || typeof token !== "string")
    throw new HopelessError(`${url} exchanged no ID token: it answered ${reply.status}`);
  return token;
}
