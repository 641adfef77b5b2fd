import { describe, expect, it } from "vitest";
import readme from "../../../README.md?raw";
import { VERSION } from "../lib/version";
import {
  type Access,
  keylessSnippet,
  referenceTo,
  screenshotsWorkflow,
  shellWord,
  snippetsFor,
  WAYS,
  type Way,
  yamlWord,
} from "./snippets";

const BASE = "https://shots.example";

const named = (name: string, organization = "octo") => ({
  id: "0123456789abcdef",
  name,
  organization: { name: organization },
});
const SHOP = named("web-shop");

const code = (way: Way, access: Access, project = SHOP) =>
  snippetsFor(way, { baseUrl: BASE, access, project })
    .map((snippet) => snippet.code)
    .join("\n");

describe.each(WAYS)("with $label", ({ id }) => {
  it("contains the service's address", () => {
    expect(code(id, "token")).toContain(BASE);
    expect(code(id, "keyless")).toContain(BASE);
  });

  it("never contains a token", () => {
    expect(code(id, "token")).not.toContain("msr_");
  });

  it("gives each snippet a different title", () => {
    const titles = snippetsFor(id, { baseUrl: BASE, access: "keyless", project: SHOP }).map(
      ({ title }) => title,
    );
    expect(new Set(titles).size).toBe(titles.length);
  });

  it("pins the version of everything that it installs", () => {
    const lines =
      code(id, "token").match(/.*(?:pip install|npm install|npx.* prshots|uses: prshots|remote:).*/g) ?? [];
    expect(lines.length > 0).toBe(id !== "curl");
    for (const line of lines) expect(line).toContain(VERSION);
  });

  it("names the project for a keyless upload, and only there", () => {
    expect(code(id, "keyless")).toContain(id === "curl" ? SHOP.id : "octo/web-shop");
    expect(code(id, "token")).not.toContain("octo/web-shop");
  });

  it("has no tabs or trailing spaces, which break YAML blocks", () => {
    expect(code(id, "token")).not.toMatch(/\t/);
    expect(code(id, "token")).not.toMatch(/ +$/m);
  });
});

it("requests an ID token from GitHub or passes the secret, never both", () => {
  expect(code("github", "token")).toContain(`token: \${{ secrets.PRSHOTS_TOKEN }}`);
  expect(code("github", "token")).not.toContain("id-token");
  expect(code("github", "keyless")).toContain("  id-token: write\n");
  expect(code("github", "keyless")).not.toContain("PRSHOTS_TOKEN");
});

it("shows the README's workflow", () => {
  const workflow = screenshotsWorkflow({
    baseUrl: "https://prshots.example.com",
    access: "token",
    project: SHOP,
  });
  expect(readme).toContain(`\`\`\`yaml\n${workflow}\`\`\``);
});

it.each(["github", "playwright", "pytest"] as const)("uploads baselines with %s", (way) => {
  expect(code(way, "token")).toContain("on:\n  push:\n    branches: [main]");
  expect(code(way, "keyless")).toContain("on:\n  push:\n    branches: [main]");
});

it.each(WAYS)("sets the check with $label", ({ id }) => {
  const gates = { github: "gate: true", gitlab: "gate: true", curl: "/v1/gate?pr_number=1" } as Partial<
    Record<Way, string>
  >;
  for (const access of ["token", "keyless"] as const) {
    expect(code(id, access)).toContain(gates[id] ?? " gate");
    expect(code(id, access).includes("statuses: write")).toBe(
      ["github", "playwright", "pytest"].includes(id),
    );
  }
});

it("uploads baselines with GitLab", () => {
  expect(code("gitlab", "token")).toContain("- if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH\n");
});

it("exchanges the ID token first if there is no client", () => {
  expect(code("curl", "keyless")).toMatch(/^PRSHOTS_TOKEN=\$\(curl .*\/v1\/oidc\/token/);
  expect(code("curl", "token")).not.toContain("oidc");
});

it("shows what a keyless upload needs in the job", () => {
  expect(keylessSnippet("github", BASE, SHOP).code).toContain("id-token: write");
  expect(keylessSnippet("gitlab", BASE, SHOP).code).toContain(`PRSHOTS_ID_TOKEN:\n    aud: ${BASE}`);
  expect(keylessSnippet("other", BASE, SHOP).code).toContain(`audience ${BASE}`);
  for (const kind of ["github", "gitlab", "other"] as const)
    expect(keylessSnippet(kind, BASE, SHOP).code).toMatch(/PRSHOTS_PROJECT.*octo\/web-shop/);
});

it("names a project by organization and name, or by its id where that is unclear", () => {
  expect(referenceTo(named("a/b"))).toBe("octo/a/b");
  expect(referenceTo(named("a", "x/y"))).toBe("0123456789abcdef");
  expect(yamlWord("octo/web-shop")).toBe("octo/web-shop");
  for (const text of ["7/web", "octo/web shop", "octo/a: b", "octo/a #b", 'octo/"'])
    expect(JSON.parse(yamlWord(text))).toBe(text);
});

describe("shellWord", () => {
  it.each([
    ["web-shop", "web-shop"],
    ["web shop", "'web shop'"],
    ["it's $HOME", "'it'\\''s $HOME'"],
    ["-rf", "'-rf'"],
    ["", "''"],
  ])("quotes %s", (text, word) => {
    expect(shellWord(text)).toBe(word);
  });

  it("quotes the project's name", () => {
    expect(code("cli", "token", named("a; b"))).toContain("'a; b'");
  });
});
