import { describe, expect, it } from "vitest";
import { match } from "./router";

describe("match", () => {
  it("finds the named parts", () => {
    expect(match("/projects/:id/prs/:n", "/projects/7f/prs/482")).toEqual({ id: "7f", n: "482" });
  });

  it("rejects paths with more or fewer parts", () => {
    expect(match("/projects/:id", "/projects")).toBeNull();
    expect(match("/projects/:id", "/projects/7f/tokens")).toBeNull();
  });

  it("accepts a trailing slash", () => {
    expect(match("/projects/:id", "/projects/7f/")).toEqual({ id: "7f" });
  });

  it("decodes parts, and rejects invalid encodings", () => {
    expect(match("/projects/:id", "/projects/a%2Fb")).toEqual({ id: "a/b" });
    expect(match("/projects/:id", "/projects/%E0%A4%A")).toBeNull();
  });

  it("matches only the root path with /", () => {
    expect(match("/", "/")).toEqual({});
    expect(match("/", "/x")).toBeNull();
  });
});
