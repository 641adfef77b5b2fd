import { describe, expect, it } from "vitest";
import { commandSnippets, curlSnippets, githubSnippets, gitlabSnippets, shellWord } from "./snippets";

const BASE = "https://shots.example";

it("names this service's address in every way to upload", () => {
  for (const snippets of [curlSnippets(BASE), githubSnippets(BASE), gitlabSnippets(BASE)]) {
    expect(snippets.some(({ code }) => code.includes(BASE))).toBe(true);
  }
});

it("never holds a token, only the name of the secret", () => {
  const all = [...curlSnippets(BASE), ...githubSnippets(BASE), ...gitlabSnippets(BASE)];
  for (const { code } of all) {
    expect(code).toContain("PRSHOTS_TOKEN");
    expect(code).not.toContain("msr_");
  }
});

it("keeps YAML blocks indented under their key", () => {
  for (const { code } of [...githubSnippets(BASE), ...gitlabSnippets(BASE)]) {
    const lines = code.split("\n");
    for (const [index, line] of lines.entries()) {
      if (!line.endsWith("|")) continue;
      const depth = (text: string) => text.length - text.trimStart().length;
      expect(depth(lines[index + 1] ?? "")).toBeGreaterThan(depth(line));
    }
  }
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
    expect(commandSnippets("a; b")[0]?.code).toContain("'a; b'");
  });
});
