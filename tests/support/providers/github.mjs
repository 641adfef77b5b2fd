// A GitHub look-alike: node github.mjs PORT REDIRECT_URI…
// It exits when its standard input closes. It adds what the emulator lacks: PKCE, a way to cancel, and the API under
// /api/v3, as on GitHub Enterprise Server.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "node:net";
import { createEmulator } from "emulate";

const [port, ...redirectUris] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}`;

// The emulator listens on every address. Make it listen on a free loopback port instead.
const listen = Server.prototype.listen;
const listening = new Promise((resolve) => {
  Server.prototype.listen = function () {
    Server.prototype.listen = listen;
    return listen.call(this, 0, "127.0.0.1", () => resolve(this.address().port));
  };
});
await createEmulator({
  service: "github",
  baseUrl: url,
  seed: {
    github: {
      users: [
        { login: "octocat", name: "The Octocat", email: "octocat@example.org" },
        { login: "mona", name: "Mona", email: "mona@elsewhere.test" },
        { login: "hubot" },
      ],
      orgs: [{ login: "Example-Org", name: "Example", members: [{ login: "octocat", role: "admin" }] }],
      oauth_apps: [{ client_id: "prshots", client_secret: "s3cret", name: "prshots", redirect_uris: redirectUris }],
    },
  },
});
const behind = `http://127.0.0.1:${await listening}`;

// The emulator has no route for the teams of a user.
const TEAMS = { octocat: [{ slug: "frontend", organization: { login: "Example-Org" } }] };

async function teams(authorization) {
  const user = await (await fetch(`${behind}/user`, { headers: { authorization } })).json();
  return { status: 200, headers: {}, text: JSON.stringify(TEAMS[user.login] ?? []) };
}

const challenges = { ofState: new Map(), ofCode: new Map() };

async function reply(request, body) {
  const asked = new URL(request.url, url);
  const form = new URLSearchParams(body);
  if (asked.pathname === "/login/oauth/access_token") {
    const challenge = challenges.ofCode.get(form.get("code"));
    const answer = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (challenge && answer !== challenge) form.set("code", "of somebody else");
    if (challenge) body = form.toString();
  }
  const { method, headers } = request;
  if (asked.pathname === "/api/v3/user/teams") return teams(headers.authorization);
  for (const name of ["host", "connection", "content-length"]) delete headers[name];
  const target = behind + request.url.replace(/^\/api\/v3/, "");
  const answer = await fetch(target, { method, headers, redirect: "manual", body: body || undefined });
  let text = await answer.text();
  if (asked.pathname === "/login/oauth/authorize") {
    const { state, redirect_uri, code_challenge } = Object.fromEntries(asked.searchParams);
    if (code_challenge) challenges.ofState.set(state, code_challenge);
    const cancel = `${redirect_uri}?error=access_denied&state=${encodeURIComponent(state)}`;
    text = text.replace("<form", `<a href="${cancel}">Cancel</a><form`);
  }
  if (asked.pathname === "/login/oauth/callback") {
    const code = new URL(answer.headers.get("location")).searchParams.get("code");
    challenges.ofCode.set(code, challenges.ofState.get(form.get("state")));
  }
  const { "content-length": _, ...kept } = Object.fromEntries(answer.headers);
  return { status: answer.status, headers: kept, text };
}

createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { status, headers, text } = await reply(request, body);
  response.writeHead(status, headers).end(text);
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
process.stdin.resume().on("end", () => process.exit());
