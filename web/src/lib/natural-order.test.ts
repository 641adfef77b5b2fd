import { expect, test } from "vitest";
import vectors from "../../../tests/vectors/natural_order.json";
import { sortNaturally } from "./natural-order";

test.each(vectors.sorted)("$case", ({ names }) => {
  expect(sortNaturally([...names].reverse(), (name) => name)).toEqual(names);
});
