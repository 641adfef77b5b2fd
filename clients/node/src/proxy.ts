/** Proxies that the environment names. Node's fetch ignores them unless it is told not to. */
import * as http from "node:http";
import type { Environ } from "./ci/job.js";

const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];

/** Node 24.14 and newer have this; its types, which are of Node 20, do not. */
type SetGlobalProxy = (environ: Environ) => unknown;

/** Send requests through the environment's proxy. Return a warning if this Node can't; else an empty text. */
export function throughProxy(
  environ: Environ,
  set: SetGlobalProxy | null = (http as { setGlobalProxyFromEnv?: SetGlobalProxy }).setGlobalProxyFromEnv ??
    null,
): string {
  const variable = VARIABLES.find((name) => environ[name]);
  if (!variable || environ.NODE_USE_ENV_PROXY === "1") return "";
  if (!set) return `Node ${process.version} ignores the proxy of ${variable}: use Node 24.14 or newer`;
  try {
    set(environ);
    return "";
  } catch {
    return `${variable} is ignored, because it is not the address of a proxy: use http://HOST:PORT`;
  }
}
