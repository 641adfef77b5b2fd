/** Which forge an address belongs to, where that forge's API is, and which token it takes. */
import { BlockList, isIP } from "node:net";
import { message } from "../statements.js";
import type { Environ, ForgeKind, Job } from "./job.js";
import * as validate from "./validate.js";

/** A repository on a forge. */
export interface ForgeRepository {
  kind: ForgeKind | undefined;
  url: string;
  repository: string;
  prNumber: number | undefined;
  /** It was read from an address of a single repository or pull request. */
  isGuessed?: boolean;
}

const NOWHERE: ForgeRepository = { kind: undefined, url: "", repository: "", prNumber: undefined };

/** Gitea has no public instance. */
const PUBLIC: Record<ForgeKind, string> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  gitea: "",
  bitbucket: "https://bitbucket.org",
};
/** GitLab's CI_JOB_TOKEN is missing because it cannot write notes. */
const TOKENS: Record<ForgeKind, string[]> = {
  github: ["GITHUB_TOKEN", "GH_TOKEN"],
  gitlab: ["GITLAB_TOKEN"],
  gitea: ["GITEA_TOKEN", "FORGEJO_TOKEN"],
  bitbucket: ["BITBUCKET_TOKEN"],
};
const EVERYONES = new Map<string, ForgeKind>([
  ["github.com", "github"],
  ["gitlab.com", "gitlab"],
  ["codeberg.org", "gitea"],
  ["gitea.com", "gitea"],
  ["bitbucket.org", "bitbucket"],
]);
/** The networks of one machine or one organization. */
const NOT_GLOBAL = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const)
  NOT_GLOBAL.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const)
  NOT_GLOBAL.addSubnet(network, bits, "ipv6");
const HOSTS: [RegExp, ForgeKind][] = [
  [/github|\.ghe\.com$/, "github"],
  [/gitlab/, "gitlab"],
  [/gitea|forgejo|^codeberg\.org$/, "gitea"],
  [/^bitbucket\.org$/, "bitbucket"],
];
const PULL_REQUESTS: [RegExp, ForgeKind][] = [
  [/^(.+)\/-\/merge_requests\/([0-9]+)/, "gitlab"],
  [/^([^/]+\/[^/]+)\/pull\/([0-9]+)/, "github"],
  [/^([^/]+\/[^/]+)\/pulls\/([0-9]+)/, "gitea"],
  [/^([^/]+\/[^/]+)\/pull-requests\/([0-9]+)/, "bitbucket"],
];
const PAGE = /^(?<scheme>https?):\/\/(?<host>[^/?#]+)(?<path>[^?#]*)/i;
const REMOTES = [
  /^(?<scheme>https?|ssh|git):\/\/(?:[^/]*@)?(?<host>[\w.-]+)(?<port>:[0-9]+)?\/+(?<path>.+?)\/*$/,
  /^(?:[^/]*@)?(?<host>[\w.-]+):(?!\/\/)\/?(?<path>.+?)\/*$/,
];

/** Return the repository of a pull request's page, and the kind of forge that has such pages. */
export function repositoryOfPullRequest(address: string): ForgeRepository {
  const { scheme = "", host = "", path = "" } = PAGE.exec(validate.address(address))?.groups ?? {};
  const trimmed = path.replace(/^\/+|\/+$/g, "");
  for (const [pattern, kind] of PULL_REQUESTS) {
    const found = pattern.exec(trimmed);
    if (!found) continue;
    if (kind === "bitbucket" && kindOfHost(host) !== kind) return NOWHERE; // Bitbucket Server has another API
    const url = `${scheme.toLowerCase()}://${host}`;
    return {
      kind,
      url,
      repository: validate.repository(found[1]),
      prNumber: validate.prNumber(found[2]),
      isGuessed: true,
    };
  }
  return NOWHERE;
}

/** Where the forges have the pages of their pull requests. */
const PAGES: Record<ForgeKind, string> = {
  github: "pull",
  gitlab: "-/merge_requests",
  gitea: "pulls",
  bitbucket: "pull-requests",
};

/** Return the page of a pull request; nothing if its repository or forge is unknown. */
export function pullRequestPage(
  kind: ForgeKind | undefined,
  repositoryUrl: string,
  prNumber: number | undefined,
): string {
  return kind && repositoryUrl && prNumber !== undefined ? `${repositoryUrl}/${PAGES[kind]}/${prNumber}` : "";
}

/** Return the repository that git fetches from: https://host/o/r.git, git@host:o/r.git or ssh://host/o/r. */
export function repositoryOfRemote(remote: string): ForgeRepository {
  if (remote.length > validate.MAX_LENGTH) return NOWHERE;
  const found = REMOTES.map((pattern) => pattern.exec(remote.trim())).find(Boolean)?.groups;
  const { scheme = "", host = "", port = "", path = "" } = found ?? {};
  const repository = validate.repository(path.replace(/\.git$/, ""));
  if (!repository.includes("/")) return NOWHERE;
  // The API shares the port only if the remote is an http(s) address.
  const url = scheme.startsWith("http") ? `${scheme}://${host}${port}` : `https://${host}`;
  return { kind: kindOfHost(host), url, repository, prNumber: undefined, isGuessed: true };
}

/** Guess the kind of forge, by its host name. Anyone may choose such a name. */
function kindOfHost(host: string): ForgeKind | undefined {
  return HOSTS.find(([pattern]) => pattern.test(host.toLowerCase()))?.[1];
}

/** Return the root of a forge's API, from its address for people. The default is the public forge. */
export function apiRoot(kind: ForgeKind | undefined, given = ""): string {
  const url = given || (kind ? PUBLIC[kind] : "");
  if (!url) return "";
  switch (kind) {
    case "github": {
      const [scheme, host = ""] = url.split("://", 2);
      const isHosted = /^github\.com$|\.ghe\.com$/i.test(host);
      return isHosted ? `${scheme}://api.${host}` : `${url}/api/v3`;
    }
    case "gitlab":
      return `${url}/api/v4`;
    case "gitea":
      return `${url}/api/v1`;
    case "bitbucket":
      return "https://api.bitbucket.org/2.0";
    default:
      return "";
  }
}

/** Return the kind of forge, by the base URL of its API. */
export function kindOfApi(api: string): ForgeKind | undefined {
  const { host = "", path = "" } = PAGE.exec(api)?.groups ?? {};
  const version = /\/api\/(v[134])$/.exec(path)?.[1];
  const byPath = ({ v3: "github", v4: "gitlab", v1: "gitea" } as const)[version as "v1" | "v3" | "v4"];
  return byPath ?? kindOfHost(host.replace(/^api\./, ""));
}

/** Return the kind of public forge that has this API, such as github.com; nothing if none does. */
export function kindOfPublicApi(api: string): ForgeKind | undefined {
  const host = URL.canParse(api) ? new URL(api).host.replace(/^api\./, "") : "";
  return host.endsWith(".ghe.com") ? "github" : EVERYONES.get(host);
}

/**
 * Return why the job's forge gets no token; empty if it does. A cloned repository chooses its remote, so a token only goes
 * to a public forge of its kind, or to the address that the user or the CI's own variables name.
 */
export function whyNoToken({ forge, forgeApi: api, isForgeGuessed }: Job): string {
  const { protocol, host, origin } = new URL(api);
  if (protocol !== "https:" && !isLoopback(api)) return message("no_token_over_http", { address: origin });
  if (isForgeGuessed && kindOfPublicApi(api) !== forge) return message("no_token_for_guess", { host, api });
  return "";
}

/** Return whether this address is on the machine itself. */
function isLoopback(address: string): boolean {
  return /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostOf(address));
}

/** Return whether the internet can reach this address, judging by its host. */
export function isPublic(address: string): boolean {
  const host = hostOf(address).replace(/\.$/, "");
  if (isIP(host.replace(/^\[|\]$/g, ""))) return !NOT_GLOBAL.check(...addressAndFamily(host));
  return host.includes(".") && !/\.(local|internal|lan|localhost)$/.test(host);
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : "";
}

function addressAndFamily(host: string): [string, "ipv4" | "ipv6"] {
  const address = host.replace(/^\[|\]$/g, "");
  return [address, isIP(address) === 6 ? "ipv6" : "ipv4"];
}

/** Return the token for a forge of this kind: PRSHOTS_FORGE_TOKEN, or the usual variable. */
export function forgeToken(kind: ForgeKind | undefined, environ: Environ): string {
  let names = kind ? TOKENS[kind] : [];
  // On Gitea's runner GITHUB_TOKEN is a token for Gitea, not for GitHub.
  if (runsOnGitea(environ)) {
    names = names.filter((name) => name !== "GITHUB_TOKEN");
    if (kind === "gitea") names.push("GITHUB_TOKEN");
  }
  return validate.token(validate.first(environ, "PRSHOTS_FORGE_TOKEN", ...names));
}

/** Return whether we run in Gitea's or Forgejo's Actions, which set GitHub's variables too. */
export function runsOnGitea(environ: Environ): boolean {
  if (validate.isOn(environ, "GITEA_ACTIONS") || validate.isOn(environ, "FORGEJO_ACTIONS")) return true;
  return (
    validate.isOn(environ, "GITHUB_ACTIONS") && validate.root(environ.GITHUB_API_URL).endsWith("/api/v1")
  );
}
