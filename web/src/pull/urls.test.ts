import { expect, test } from "vitest";
import { placeOf } from "../gallery/arrange";
import { image, shot } from "../gallery/sample-shots";
import { EVERYTHING, wantedOf } from "../gallery/shot-filter";
import {
  addressesOf,
  commitsPath,
  lightboxHref,
  modeOf,
  openedAt,
  pageHref,
  pairHref,
  TABS,
  tabOf,
} from "./urls";

const at = addressesOf("p1", 7);
const queryOf = (href: string) => new URLSearchParams(href.split("?")[1]);

test("a link to an image opens that image, with any characters in its name, and keeps the filter", () => {
  const shown = image({ name: "Cart & pay? #1 + 100% ü", viewport: "375x812" });
  const wanted = { q: "a&b", viewport: "1280x800", theme: "dark", verdict: "changed" };
  const query = queryOf(lightboxHref(at, shown, wanted));
  const place = { name: shown.name, viewport: "375x812", theme: "" };
  expect(openedAt(query, [])).toEqual({ id: shown.id, place });
  expect(wantedOf(query)).toEqual(wanted);
});

test("a link without an image opens the newest image of a shot", () => {
  const place = { name: "a/b", viewport: "1x1", theme: "dark" };
  expect(pageHref(at, { opened: { place, id: null } })).toBe(
    "/projects/p1/prs/7?shot=a%2Fb&viewport=1x1&theme=dark",
  );
  expect(openedAt(new URLSearchParams({ shot: "a/b", viewport: "1x1", theme: "dark" }), [])).toEqual({
    place,
    id: null,
  });
});

test("links of earlier versions, with the image as the shot, still work", () => {
  const shown = shot("Cart", "375x812");
  const { id } = shown.newest;
  const opened = { id, place: placeOf(shown.newest) };
  expect(openedAt(new URLSearchParams({ shot: id, name: "Cart", viewport: "375x812" }), [])).toEqual(opened);
  expect(openedAt(new URLSearchParams({ shot: id }), [shot("Home", "1x1"), shown])).toEqual(opened);
  expect(openedAt(new URLSearchParams({ shot: id }), [])).toBeNull();
  expect(openedAt(new URLSearchParams("tab=comment"), [shown])).toBeNull();
});

test("the tab is part of the URL; without one, the page opens the tab that has what the URL asks for", () => {
  expect(pageHref(at, { wanted: EVERYTHING })).toBe("/projects/p1/prs/7");
  for (const tab of TABS) expect(tabOf(queryOf(pageHref(at, { tab })))).toBe(tab);
  expect(tabOf(new URLSearchParams("tab=nothing"))).toBeNull();
  expect(tabOf(new URLSearchParams("q=cart"))).toBe("all");
  expect(tabOf(new URLSearchParams("shot=cart&viewport=1x1"))).toBe("all");
});

test("a link to a pair says which shot, and how it is shown", () => {
  const place = { name: "a&b", viewport: "1x1", theme: "dark" };
  const query = queryOf(pairHref(at, place, "slider", { ...EVERYTHING, verdict: "moved" }));
  expect([tabOf(query), openedAt(query, []), modeOf(query)]).toEqual([
    "changes",
    { place, id: null },
    "slider",
  ]);
  expect(wantedOf(query).verdict).toBe("moved");
  expect(modeOf(new URLSearchParams("mode=upside-down"))).toBe("side");
});

test("a name with & cannot add a query parameter", () => {
  const path = commitsPath(at, { name: "a&viewport=1x1", viewport: "2x2", theme: "" });
  expect(queryOf(path).getAll("viewport")).toEqual(["2x2"]);
});
