/** What must not appear in a log. A service or a forge may repeat a token in its reply. */
import type { Environ } from "./ci/job.js";

/** A shorter value isn't a secret, and replacing it would garble messages. */
const SHORTEST_SECRET = 8;

/** Return the tokens from the options and the environment. */
export function secretsOf(options: { token?: string; forgeToken?: string }, environ: Environ): string[] {
  const ofJob = Object.keys(environ).filter((name) => name.endsWith("_TOKEN"));
  const given = [options.token, options.forgeToken, ...ofJob.map((name) => environ[name])];
  return given.map((token) => token?.trim() ?? "").filter((token) => token.length >= SHORTEST_SECRET);
}

/** Return the text without these secrets, and without anything that looks like an upload token. */
export function redact(text: string, secrets: string[]): string {
  return secrets
    .reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text)
    .replace(/msr_\w+/g, "msr_[hidden]");
}
