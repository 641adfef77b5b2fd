import { describe, expect, it } from "vitest";
import { type Access, keylessSnippet, shellWord, snippetsFor, WAYS, type Way } from "./snippets";

const BASE = "https://shots.example";

const code = (way: Way, access: Access, projectName = "web-shop") =>
  snippetsFor(way, { baseUrl: BASE, access, projectName })
    .map((snippet) => snippet.code)
    .join("\n");

describe.each(WAYS)("with $label", ({ id }) => {
  it("names this service's address", () => {
    expect(code(id, "token")).toContain(BASE);
    expect(code(id, "keyless")).toContain(BASE);
  });

  it("never holds a token", () => {
    expect(code(id, "token")).not.toContain("msr_");
  });

  it("tells the snippets apart by their titles", () => {
    const titles = snippetsFor(id, { baseUrl: BASE, access: "keyless", projectName: "" }).map(
      ({ title }) => title,
    );
    expect(new Set(titles).size).toBe(titles.length);
  });

  it("gives nothing that YAML would not take as one block", () => {
    expect(code(id, "token")).not.toMatch(/\t/);
    expect(code(id, "token")).not.toMatch(/ +$/m);
  });
});

it("asks GitHub for an ID token, or hands over the secret, never both", () => {
  expect(code("github", "token")).toContain(`token: \${{ secrets.PRSHOTS_TOKEN }}`);
  expect(code("github", "token")).not.toContain("id-token");
  expect(code("github", "keyless")).toContain("  id-token: write\n");
  expect(code("github", "keyless")).not.toContain("PRSHOTS_TOKEN");
});

it("exchanges the ID token first where there is no client", () => {
  expect(code("curl", "keyless")).toMatch(/^PRSHOTS_TOKEN=\$\(curl .*\/v1\/oidc\/token/);
  expect(code("curl", "token")).not.toContain("oidc");
});

it("says what a job needs that uploads without a token", () => {
  expect(keylessSnippet("github", BASE).code).toContain("id-token: write");
  expect(keylessSnippet("gitlab", BASE).code).toContain(`PRSHOTS_ID_TOKEN:\n    aud: ${BASE}`);
  expect(keylessSnippet("other", BASE).code).toContain(`audience ${BASE}`);
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

  it("is used for the project's name", () => {
    expect(code("cli", "token", "a; b")).toContain("'a; b'");
  });
});
