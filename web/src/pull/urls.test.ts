import { expect, test } from "vitest";
import { image } from "../gallery/sample-shots";
import { NO_FILTER, shotFilterFrom } from "../gallery/shot-filter";
import {
  lightboxHref,
  modeFrom,
  openShotFrom,
  pageHref,
  pairHref,
  pullUrls,
  shotImagesPath,
  TABS,
  tabFrom,
} from "./urls";

const urls = pullUrls("p1", 7);
const queryOf = (href: string) => new URLSearchParams(href.split("?")[1]);

test("a link to an image opens that image, with any characters in its name, and keeps the filter", () => {
  const shown = image({ name: "Cart & pay? #1 + 100% ü", viewport: "375x812" });
  const filter = { q: "a&b", viewport: "1280x800", theme: "dark", verdict: "changed" };
  const query = queryOf(lightboxHref(urls, shown, filter));
  const shotKey = { name: shown.name, viewport: "375x812", theme: "" };
  expect(openShotFrom(query)).toEqual({ id: shown.id, shotKey });
  expect(shotFilterFrom(query)).toEqual(filter);
});

test("a link without an image opens the newest image of a shot", () => {
  const shotKey = { name: "a/b", viewport: "1x1", theme: "dark" };
  expect(pageHref(urls, { openShot: { shotKey, id: null } })).toBe(
    "/projects/p1/prs/7?shot=a%2Fb&viewport=1x1&theme=dark",
  );
  expect(openShotFrom(new URLSearchParams({ shot: "a/b", viewport: "1x1", theme: "dark" }))).toEqual({
    shotKey,
    id: null,
  });
});

test("a URL without a shot or without its viewport opens nothing", () => {
  expect(openShotFrom(new URLSearchParams("tab=comment"))).toBeNull();
  expect(openShotFrom(new URLSearchParams("shot=cart"))).toBeNull();
});

test("the tab is part of the URL; without one, the URL's shot or filter selects it", () => {
  expect(pageHref(urls, { filter: NO_FILTER })).toBe("/projects/p1/prs/7");
  for (const tab of TABS) expect(tabFrom(queryOf(pageHref(urls, { tab })))).toBe(tab);
  expect(tabFrom(new URLSearchParams("tab=nothing"))).toBeNull();
  expect(tabFrom(new URLSearchParams("q=cart"))).toBe("all");
  expect(tabFrom(new URLSearchParams("shot=cart&viewport=1x1"))).toBe("all");
});

test("a link to a pair says which shot, and how it is shown", () => {
  const shotKey = { name: "a&b", viewport: "1x1", theme: "dark" };
  const query = queryOf(pairHref(urls, shotKey, "slider", { ...NO_FILTER, verdict: "moved" }));
  expect([tabFrom(query), openShotFrom(query), modeFrom(query)]).toEqual([
    "changes",
    { shotKey, id: null },
    "slider",
  ]);
  expect(shotFilterFrom(query).verdict).toBe("moved");
  expect(modeFrom(new URLSearchParams("mode=upside-down"))).toBe("side");
});

test("a name with & cannot add a query parameter", () => {
  const path = shotImagesPath(urls, { name: "a&viewport=1x1", viewport: "2x2", theme: "" });
  expect(queryOf(path).getAll("viewport")).toEqual(["2x2"]);
});

test("a link to a group opens the changes", () => {
  expect(pageHref(urls, { tab: "changes", group: "abc" })).toBe("/projects/p1/prs/7?tab=changes&group=abc");
  expect(tabFrom(new URLSearchParams("group=abc"))).toBe("changes");
});

test("links behind a share link keep its secret", () => {
  const shared = { page: "/shared", fragment: "#secret", projectId: null, history: null };
  expect(pageHref(shared, {})).toBe("/shared#secret");
  expect(pageHref(shared, { tab: "changes", group: "abc" })).toBe("/shared?tab=changes&group=abc#secret");
});
