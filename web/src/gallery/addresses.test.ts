import { expect, test } from "vitest";
import { addressesOf, commitsPath, lightboxHref, openedAt } from "./addresses";
import { image, shot } from "./sample";

const at = addressesOf("p1", 7);

test("a link to an image opens that image, with any characters in its name", () => {
  const shown = image({ name: "Cart & pay? #1 + 100% ü", viewport: "375x812" });
  const query = new URLSearchParams(lightboxHref(at, shown).split("?")[1]);
  expect(openedAt(query, [])).toEqual({ id: shown.id, place: { name: shown.name, viewport: "375x812" } });
});

test("a link with only the image id works too", () => {
  const shown = shot("Cart", "375x812");
  const query = new URLSearchParams({ shot: shown.newest.id });
  expect(openedAt(query, [shot("Home", "1x1"), shown])).toEqual({ id: shown.newest.id, place: shown.newest });
  expect(openedAt(query, [])).toBeNull();
  expect(openedAt(new URLSearchParams("view=comment"), [shown])).toBeNull();
});

test("a name with & cannot add a query parameter", () => {
  const path = commitsPath(at, { name: "a&viewport=1x1", viewport: "2x2" });
  expect(new URLSearchParams(path.split("?")[1]).getAll("viewport")).toEqual(["2x2"]);
});
