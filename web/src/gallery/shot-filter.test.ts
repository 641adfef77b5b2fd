import { expect, test } from "vitest";
import type { Shot } from "../lib/types";
import { shot } from "./sample-shots";
import {
  filterOptions,
  filterParameters,
  filterShots,
  NO_FILTER,
  nameTerm,
  shotFilterFrom,
} from "./shot-filter";

const key = ({ newest }: Shot) => newest;

const shots = [
  shot("checkout/Cart", "1280x800"),
  shot("checkout/cart", "375x812"),
  shot("checkout/pay", "375x812"),
  shot("home", "10000x800"),
];
const names = (filter: Partial<typeof NO_FILTER>) =>
  filterShots(shots, { ...NO_FILTER, ...filter }, key).map(
    ({ newest }) => `${newest.name} ${newest.viewport}`,
  );

test("an empty filter matches everything", () => {
  expect(filterShots(shots, NO_FILTER, key)).toEqual(shots);
});

test("every word must be in the name, in upper or lower case", () => {
  expect(names({ q: "CART" })).toEqual(["checkout/Cart 1280x800", "checkout/cart 375x812"]);
  expect(names({ q: " pay  check " })).toEqual(["checkout/pay 375x812"]);
  expect(names({ q: "cart pay" })).toEqual([]);
});

test("viewport and theme filter shots", () => {
  expect(names({ q: "cart", viewport: "375x812" })).toEqual(["checkout/cart 375x812"]);
  expect(names({ theme: "dark" })).toEqual([]);
  const dark = shot("a", "1x1", { theme: "dark" });
  expect(filterShots([...shots, dark], { ...NO_FILTER, theme: "dark" }, key)).toEqual([dark]);
  expect(filterOptions([...shots, dark].map(key)).themes).toEqual(["dark"]);
});

test("viewports are offered by width", () => {
  expect(filterOptions(shots.map(key))).toEqual({
    viewports: ["375x812", "1280x800", "10000x800"],
    themes: [],
  });
});

test("a search that found a number or a commit is not passed on as a name", () => {
  const pull = { pr_number: 42, last_commit: "d83dede1" };
  expect(["4", "#42", "d83D", "cart", "2"].map((q) => nameTerm(pull, q))).toEqual(["", "", "", "cart", "2"]);
});

test("the URL keeps the filter, including the verdict", () => {
  const filter = { q: "cart", viewport: "1x1", theme: "dark", verdict: "changed" };
  expect(shotFilterFrom(new URLSearchParams(filterParameters(filter)))).toEqual(filter);
});
