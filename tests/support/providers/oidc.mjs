// An OpenID provider: node oidc.mjs PORT REDIRECT_URI…
// Sign in as any of the people below, with any password. It exits when its standard input closes.
import Provider from "oidc-provider";

const [port, ...redirectUris] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;

const people = {
  ada: {
    name: "Ada Lovelace",
    preferred_username: "lovelace",
    picture: `${issuer}/ada.png`,
    email: "ada@example.org",
    email_verified: true,
    groups: ["engines", "example/web"],
  },
  bob: { name: "Bob", preferred_username: "bob", email: "bob@elsewhere.test", email_verified: true },
  // Has an unverified email address.
  eve: { name: "Eve", preferred_username: "eve", email: "eve@example.org", email_verified: false },
};

const provider = new Provider(issuer, {
  clients: [{ client_id: "prshots", client_secret: "a secret: +%/&=", redirect_uris: redirectUris }],
  claims: {
    openid: ["sub"],
    profile: ["name", "preferred_username", "picture", "groups"],
    email: ["email", "email_verified"],
  },
  pkce: { required: () => true },
  cookies: { keys: ["tests"] },
  findAccount: (_, id) =>
    Object.hasOwn(people, id) ? { accountId: id, claims: () => ({ sub: id, ...people[id] }) } : undefined,
});

provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
process.stdin.resume().on("end", () => process.exit());
