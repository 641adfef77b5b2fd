import { describe, expect, it } from "vitest";
import { match } from "./router";

describe("match", () => {
  it("finds the named parts", () => {
    expect(match("/projects/:id/prs/:n", "/projects/7f/prs/482")).toEqual({ id: "7f", n: "482" });
  });

  it("takes neither more nor fewer parts", () => {
    expect(match("/projects/:id", "/projects")).toBeNull();
    expect(match("/projects/:id", "/projects/7f/tokens")).toBeNull();
  });

  it("does not mind a slash at the end", () => {
    expect(match("/projects/:id", "/projects/7f/")).toEqual({ id: "7f" });
  });

  it("decodes what was encoded, and refuses what cannot be", () => {
    expect(match("/projects/:id", "/projects/a%2Fb")).toEqual({ id: "a/b" });
    expect(match("/projects/:id", "/projects/%E0%A4%A")).toBeNull();
  });

  it("matches the root alone with the root", () => {
    expect(match("/", "/")).toEqual({});
    expect(match("/", "/x")).toBeNull();
  });
});
