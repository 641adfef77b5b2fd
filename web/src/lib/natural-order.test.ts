import { expect, test } from "vitest";
import vectors from "../../../tests/vectors/natural_order.json";
import { naturally } from "./natural-order";

test.each(vectors.sorted)("$case", ({ names }) => {
  expect(naturally([...names].reverse(), (name) => name)).toEqual(names);
});
