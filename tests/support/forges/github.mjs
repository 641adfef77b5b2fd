// A GitHub look-alike to comment on: node github.mjs PORT
// It exits when its standard input closes. It wraps emulate and adds what emulate lacks, in the shape of GitHub's
// replies: refused and read-only tokens, the owner of a token (GraphQL), comments that are too long, page links with
// the repository's number, pull requests by head and from forks, commit statuses, rendered comments, and the image proxy
// for their images. The API is at / (as on api.github.com) and under /api/v3 (as on GitHub Enterprise Server).
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "node:net";
import { createEmulator } from "../providers/node_modules/emulate/dist/api.js";

const port = Number(process.argv[2]);
const url = `http://127.0.0.1:${port}`;
const repository = "octocat/shop";

// The owners of the tokens. `bot` marks a token of an integration, such as a workflow's GITHUB_TOKEN.
const people = {
  ghs_workflow: { login: "github-actions[bot]", bot: true },
  ghs_workflow_of_a_fork: { login: "github-actions[bot]", bot: true, mayOnlyRead: true },
  ghs_workflow_without_statuses: { login: "github-actions[bot]", bot: true, maySetNoStatus: true },
  ghp_octocat: { login: "octocat" },
  ghp_mallory: { login: "mallory", isStranger: true },
  ghp_octocat_without_scope: { login: "octocat", maySetNoStatus: true },
};

// emulate listens on every address. Make it listen on a free loopback port instead.
const listen = Server.prototype.listen;
const listening = new Promise((resolve) => {
  Server.prototype.listen = function () {
    Server.prototype.listen = listen;
    return listen.call(this, 0, "127.0.0.1", () => resolve(this.address().port));
  };
});
const scopes = ["repo", "user"];
const emulator = await createEmulator({
  service: "github",
  baseUrl: url,
  seed: {
    tokens: Object.fromEntries(Object.entries(people).map(([token, { login }]) => [token, { login, scopes }])),
    github: {
      users: [{ login: "octocat", name: "The Octocat" }, { login: "mallory" }, { login: "github-actions[bot]" }],
      repos: [
        { owner: "octocat", name: "shop", auto_init: true },
        { owner: "octocat", name: "without-app", auto_init: true },
      ],
      apps: [
        {
          app_id: 4711,
          slug: "prshots-here",
          name: "prshots here",
          permissions: { metadata: "read", pull_requests: "write", statuses: "write" },
          installations: [{ installation_id: 8, account: "octocat", repository_selection: "selected", repositories: ["octocat/shop"] }],
        },
      ],
    },
  },
});
const behind = `http://127.0.0.1:${await listening}`;

const docs = "https://docs.github.com/rest";
const refusal = (status, message, more = {}) => ({
  status,
  body: { message, ...more, documentation_url: docs, status: String(status) },
});
const notForIntegrations = () => refusal(403, "Resource not accessible by integration");

// The image proxy caches an image until it is purged.
const kept = new Map();
const purged = [];

const proxiedAddress = (address) => {
  const digest = createHash("sha256").update(address).digest("hex");
  return `${url}/camo/${digest}/${Buffer.from(address).toString("hex")}`;
};

async function proxied(method, path) {
  if (method === "PURGE") {
    purged.push(url + path);
    kept.delete(path);
    return { status: 200, body: { status: "ok", id: String(purged.length) } };
  }
  if (!kept.has(path)) {
    const picture = await fetch(Buffer.from(path.split("/").pop(), "hex").toString());
    if (!picture.ok) return { status: 404, headers: { "content-type": "text/plain" }, bytes: Buffer.from("Not Found") };
    const type = picture.headers.get("content-type");
    kept.set(path, { headers: { "content-type": type }, bytes: Buffer.from(await picture.arrayBuffer()) });
  }
  return { status: 200, ...kept.get(path) };
}

// Pull requests from forks, which emulate does not have.
const forks = [];

function forked({ branch, repository: fork }) {
  const number = 9000 + forks.length;
  const head = { ref: branch, sha: "f".repeat(40), repo: { full_name: fork } };
  const base = { ref: "main", repo: { full_name: repository } };
  const page = `${url}/${repository}/pull/${number}`;
  forks.push({ number, state: "open", title: "From a fork", user: { login: "stranger" }, html_url: page, head, base });
  return { number };
}

// Commit statuses, by commit and context.
const statuses = new Map();
const MOST_STATUSES = 1000;

const statusesOf = (sha, context) => {
  const key = `${sha} ${context.toLowerCase()}`;
  if (!statuses.has(key)) statuses.set(key, []);
  return statuses.get(key);
};

function setStatus(sha, { state, description, target_url: target, context = "default" }, person) {
  if (person?.maySetNoStatus) return person.bot ? notForIntegrations() : refusal(404, "Not Found");
  if (!/^[0-9a-f]{40}$/.test(sha) || /^0+$/.test(sha)) return refusal(422, `No commit found for SHA: ${sha}`);
  const found = statusesOf(sha, context);
  const problems = {
    state: !["error", "failure", "pending", "success"].includes(state) && "state is not included in the list",
    description: [...(description ?? "")].length > 140 && "description is too long (maximum is 140 characters)",
    target_url: ![null, undefined].includes(target) && !/^https?:/.test(target) && "target_url must use http(s) scheme",
    base: found.length >= MOST_STATUSES && "This SHA and context has reached the maximum number of statuses.",
  };
  const errors = Object.entries(problems)
    .filter(([, message]) => message)
    .map(([field, message]) => ({ resource: "Status", code: "custom", field, message }));
  if (errors.length) return refusal(422, "Validation Failed", { errors });
  found.push([state, description ?? "", target ?? ""]);
  return { status: 201, body: { id: found.length, state, description, target_url: target ?? null, context } };
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

function rendered(markdown) {
  const image = (alt, address) => {
    const shown = proxiedAddress(address);
    return `<img src="${shown}" alt="${alt}" data-canonical-src="${escaped(address)}" style="max-width: 100%;">`;
  };
  const withPictures = markdown
    .replace(/<img [^>]*alt="([^"]*)" src="([^"]+)">/g, (_, alt, address) =>
      image(alt, address.replaceAll("&amp;", "&")),
    )
    .replace(
      /!\[(.*)\]\((\S+)\)/g,
      (_, alt, address) =>
        `<a target="_blank" rel="noopener noreferrer nofollow" href="${proxiedAddress(address)}">` +
        `${image(escaped(alt), address)}</a>`,
    );
  return withPictures.replace(/^### (.*)$/gm, "<h3 dir=\"auto\">$1</h3>").replace(/^<!--.*-->\n/, "");
}

async function ofEmulate(request, path, text) {
  const headers = Object.fromEntries(
    ["accept", "authorization", "content-type"].flatMap((name) => (request.headers[name] ? [[name, request.headers[name]]] : [])),
  );
  const { method } = request;
  const answer = await fetch(behind + path, { method, headers, redirect: "manual", body: text || undefined });
  const said = await answer.text();
  const link = answer.headers.get("link")?.replaceAll(`${behind}/repos/${repository}/`, `${url}/repositories/1/`);
  return {
    status: answer.status,
    headers: { "content-type": "application/json; charset=utf-8", ...(link && { link }) },
    bytes: Buffer.from(
      said
        .replace(/\/issues\/(\d+)#issuecomment-/g, "/pull/$1#issuecomment-")
        .replace(/("login":"[^"]*\[bot\]"[^{}]*"type":)"User"/g, '$1"Bot"'),
    ),
  };
}

// A call with the App's JSON Web Token, which emulate verifies. A token that it returns may be used from then on.
async function asApp(request, path, text) {
  const answer = await ofEmulate(request, path, text);
  if (path.endsWith("/access_tokens") && answer.status === 201)
    people[JSON.parse(answer.bytes).token] = { login: "prshots-here[bot]", bot: true };
  return answer;
}

async function reply(request, text) {
  const path = request.url.replace(/^\/api\/v3/, "").replace(/^\/repositories\/1\//, `/repos/${repository}/`);
  if (path.startsWith("/camo/")) return proxied(request.method, path);
  if (path === "/_purged") return { status: 200, body: purged };
  if (path === "/_app_key") return { status: 200, body: emulator.generatedSecrets[0].value };
  if (/^\/app(\/|$)|\/installation$/.test(path)) return asApp(request, path, text);
  const person = people[(request.headers.authorization ?? "").replace(/^(Bearer|token) /i, "")];
  if (request.headers.authorization && !person) return refusal(401, "Bad credentials");
  if (path === "/graphql" || path === "/api/graphql") {
    if (!person) return refusal(401, "This endpoint requires you to be authenticated.");
    return { status: 200, body: { data: { viewer: { login: person.login } } } };
  }
  if (path === "/user" && person?.bot) return notForIntegrations();
  if (person?.mayOnlyRead && request.method !== "GET") return notForIntegrations();
  if (/\/comments(\/\d+)?$/.test(path) && text && [...JSON.parse(text).body].length > 65_536) {
    const message = "Body is too long (maximum is 65536 characters)";
    const error = { resource: "IssueComment", code: "unprocessable", field: "data", message };
    return refusal(422, "Validation Failed", { errors: [error] });
  }
  const [, head] = /^\/repos\/[^/]+\/[^/]+\/commits\/([0-9a-f]{40})\/pulls(?:\?|$)/.exec(path) ?? [];
  if (head) {
    const open = await ofEmulate(request, `/repos/${repository}/pulls?per_page=100`, text);
    return { status: open.status, body: JSON.parse(open.bytes).filter((pull) => pull.head.sha === head) };
  }
  const [, setOn] = new RegExp(`^/repos/${repository}/statuses/([^/]+)$`).exec(path) ?? [];
  if (setOn && request.method === "POST") return setStatus(setOn, JSON.parse(text), person);
  const [, listed, context = "prshots"] = /^\/_statuses\/(\w+)(?:\?context=(.+))?$/.exec(path) ?? [];
  if (listed && request.method === "GET")
    return { status: 200, body: statusesOf(listed, decodeURIComponent(context)) };
  if (listed) return { status: 201, body: statusesOf(listed, "prshots").push(...Array(MOST_STATUSES).fill(["pending", "", ""])) };
  if (path === "/_forked") return { status: 200, body: forked(JSON.parse(text)) };
  const asked = new URL(path, url);
  if (request.method === "GET" && asked.pathname === `/repos/${repository}/pulls` && asked.searchParams.has("head")) {
    const open = await ofEmulate(request, `${asked.pathname}?state=open&per_page=100`, text);
    const [owner, branch] = asked.searchParams.get("head").split(/:(.*)/s);
    const isHead = ({ head }) => head.ref === branch && head.repo.full_name.startsWith(`${owner}/`);
    return { status: open.status, body: [...JSON.parse(open.bytes), ...forks].filter(isHead) };
  }
  const [, fork] = /^\/repos\/[^/]+\/[^/]+\/pulls\/(\d+)$/.exec(path) ?? [];
  const known = forks.find(({ number }) => number === Number(fork));
  if (known && request.method === "GET") return { status: 200, body: known };
  if (person?.isStranger && request.method === "PATCH") return refusal(403, "Must have admin rights to Repository.");
  const answer = await ofEmulate(request, path, text);
  if (answer.status === 200 && /github\.(full|html)\+json/.test(request.headers.accept) && /\/comments\/\d+$/.test(path)) {
    const comment = JSON.parse(answer.bytes);
    return { status: 200, body: { ...comment, body_html: rendered(comment.body) } };
  }
  return answer;
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { status, headers, body, bytes } = await reply(request, Buffer.concat(chunks).toString());
  const said = body === undefined ? bytes : Buffer.from(JSON.stringify(body));
  const limits = { "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999", "x-github-media-type": "github.v3" };
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...limits, ...headers });
  response.end(status === 204 ? undefined : said);
}).listen(port, "127.0.0.1", () => console.log("ready"));
process.stdin.resume().on("end", () => process.exit());
