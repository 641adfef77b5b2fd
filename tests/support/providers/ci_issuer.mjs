// An OpenID issuer like the one a forge runs for its CI jobs: node ci_issuer.mjs PORT FD
// It listens on the socket FD, which is bound to PORT, and exits when its standard input closes.
//   GET /job?audience=A&claims=JSON[&seconds=N]  an ID token, as GitHub gives it to jobs: {"value": "…"}
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [port, fd] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const GRANT = "urn:prshots:job";

// Accept any audience: the provider sees it as a client with that name.
class Clients {
  async find(id) {
    return {
      client_id: id,
      grant_types: [GRANT],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: "none",
    };
  }
}

function providerWithNewKeys() {
  const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  const provider = new Provider(issuer, {
    adapter: Clients,
    cookies: { keys: ["tests"] },
    jwks: { keys: [{ ...key, kid: randomUUID(), use: "sig", alg: "RS256" }] },
  });
  async function job(ctx) {
    const { claims, seconds } = ctx.oidc.params;
    const { sub, ...others } = JSON.parse(claims);
    const token = new provider.IdToken({ sub }, { ctx });
    token.scope = "openid";
    for (const [name, value] of Object.entries(others)) token.set(name, value);
    const expiresAt = Math.floor(Date.now() / 1000) + Number(seconds);
    ctx.body = { id_token: await token.issue({ use: "idtoken", expiresAt }) };
  }
  provider.registerGrantType(GRANT, job, ["claims", "seconds"]);
  return provider.callback();
}

async function idToken(asked) {
  const form = new URLSearchParams({
    grant_type: GRANT,
    client_id: asked.get("audience"),
    claims: asked.get("claims"),
    seconds: asked.get("seconds") ?? "300",
  });
  const reply = await fetch(`${issuer}/token`, { method: "POST", body: form });
  const said = await reply.json();
  if (!said.id_token) throw new Error(JSON.stringify(said));
  return said.id_token;
}

const provide = providerWithNewKeys();

async function answer(request, response) {
  const asked = new URL(request.url, issuer);
  if (asked.pathname === "/job") {
    response.end(JSON.stringify({ value: await idToken(asked.searchParams) }));
  } else {
    provide(request, response);
  }
}

createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
}).listen({ fd: Number(fd) }, () => console.log("ready"));
process.stdin.resume().on("end", () => process.exit());
