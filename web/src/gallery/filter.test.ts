import { expect, test } from "vitest";
import { asQuery, filterOf } from "./filter";

test.each([
  { state: "", q: "" } as const,
  { state: "open", q: "" } as const,
  { state: "closed", q: "cart & pay #7 + ü%" } as const,
])("a filter comes back from its address: %o", (filter) => {
  expect(filterOf(new URLSearchParams(asQuery(filter)))).toEqual(filter);
});

test("no filter leaves no trace in the address", () => {
  expect(asQuery({ state: "", q: "" })).toBe("");
});

test("what the address should not hold is left out", () => {
  expect(filterOf(new URLSearchParams("state=merged&q=%20%20"))).toEqual({ state: "", q: "" });
});
