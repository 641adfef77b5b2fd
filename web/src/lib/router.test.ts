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

  it("rejects values that would change an API path", () => {
    for (const id of ["..%2f..", "a%2Fb", "%2e%2e", "..", ".", "a?b", "a;b", "%E0%A4%A", "a%62"]) {
      expect(match("/projects/:id", `/projects/${id}`)).toBeNull();
    }
    expect(match("/projects/:id", "/projects/0f-A_9")).toEqual({ id: "0f-A_9" });
  });

  it("matches only the root path with /", () => {
    expect(match("/", "/")).toEqual({});
    expect(match("/", "/x")).toBeNull();
  });
});
