import { expect, test } from "vitest";
import { pullFilterFrom, pullFilterQuery } from "./pull-filter";

test.each([
  { state: "", q: "" } as const,
  { state: "open", q: "" } as const,
  { state: "closed", q: "cart & pay #7 + ü%" } as const,
])("a filter survives a round trip through the URL: %o", (filter) => {
  expect(pullFilterFrom(new URLSearchParams(pullFilterQuery(filter)))).toEqual(filter);
});

test("an empty filter adds nothing to the URL", () => {
  expect(pullFilterQuery({ state: "", q: "" })).toBe("");
});

test("invalid values in the URL are ignored", () => {
  expect(pullFilterFrom(new URLSearchParams("state=merged&q=%20%20"))).toEqual({ state: "", q: "" });
});
