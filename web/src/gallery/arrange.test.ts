import { describe, expect, test } from "vitest";
import { arrange, chooseAfterDelete, firstRows, listShots, widestRow } from "./arrange";
import { image, shot } from "./sample-shots";
import { boxAspect, shotId } from "./shot-key";

const layout = (folders: ReturnType<typeof arrange>) =>
  folders.flatMap(({ rows }) =>
    rows.map((row) => [row.name, ...row.cells.map(({ newest }) => newest.viewport)]),
  );
const arrangeNames = (...names: string[]) => arrange(names.map((name) => shot(name, "1x1")));

const many = (folder: string) =>
  ["1", "2", "3", "4", "5", "6", "7", "8", "9"].map((name) => `${folder}/${name}`);

describe("arranging the gallery", () => {
  test("one row per name, with viewports sorted by width and height, not alphabetically", () => {
    const shots = [
      shot("Cart", "1280x800"),
      shot("Cart", "375x812"),
      shot("Home", "375x812"),
      shot("Cart", "375x667"),
      shot("Cart", "768x1024"),
    ];
    expect(layout(arrange(shots))).toEqual([
      ["Cart", "375x667", "375x812", "768x1024", "1280x800"],
      ["Home", "375x812"],
    ]);
  });

  test("names are in natural order", () => {
    expect(layout(arrangeNames("step-10", "step-2", "Step-1")).map(([name]) => name)).toEqual([
      "Step-1",
      "step-2",
      "step-10",
    ]);
  });

  test("names without a folder come first, then each folder once", () => {
    const folders = arrangeNames("b/x", "a/2", "a/10", "zebra", "a/b/c", "/root", "end/", ...many("z"));
    expect(folders.map(({ path, rows }) => [path, ...rows.map(({ label }) => label)])).toEqual([
      ["", "root", "end/", "zebra"],
      ["a", "2", "10"],
      ["a/b", "c"],
      ["b", "x"],
      ["z", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    ]);
    expect(listShots(folders).map(({ newest }) => newest.name)).toEqual(
      layout(folders).map(([name]) => name),
    );
  });

  test("a few rows, or a single folder, need no folders", () => {
    expect(arrangeNames("home", "a/2", "a/10")).toMatchObject([
      { path: "", rows: [{ name: "a/2" }, { name: "a/10" }, { name: "home" }] },
    ]);
    expect(arrangeNames(...many("a"), ...many("a/b"))).toHaveLength(2);
    expect(arrangeNames(...many("a"))).toHaveLength(1);
    expect(arrangeNames()).toEqual([]);
  });

  test("the same name and viewport in two themes are two shots of one row, light after dark", () => {
    const themed = (theme: string) => shot("A", "1280x800", { theme });
    const [folder] = arrange([themed("light"), themed("dark")]);
    const keys = folder?.rows[0]?.cells.map(({ newest }) => shotId(newest));
    expect(keys).toEqual(["1280x800 dark A", "1280x800 light A"]);
  });

  test("names that differ only by a space are different rows", () => {
    expect(layout(arrangeNames("a", "a "))).toHaveLength(2);
  });

  test("the first rows keep their folders", () => {
    const folders = arrangeNames("a/1", "a/2", "b/1", "c/1", ...many("d"));
    expect(layout(firstRows(folders, 3)).map(([name]) => name)).toEqual(["a/1", "a/2", "b/1"]);
    expect(firstRows(folders, 2)).toHaveLength(1);
  });

  test("the widest row is the one whose boxes take the most width", () => {
    expect(widestRow(arrange([shot("a", "100x100"), shot("b", "200x100"), shot("b", "100x100")]))).toBe(3);
  });
});

describe("an image's box", () => {
  test("has the shape of its viewport, within limits", () => {
    expect(boxAspect("1280x800")).toBe(1.6);
    expect(boxAspect("99999x1")).toBe(2.4);
    expect(boxAspect("1x99999")).toBe(0.46);
  });
});

describe("after deleting", () => {
  const order = [shot("A", "1x1"), shot("B", "1x1"), shot("C", "1x1")];
  const [a, b, c] = order.map((each) => each.newest) as [
    ReturnType<typeof image>,
    ReturnType<typeof image>,
    ReturnType<typeof image>,
  ];

  test("the newest image of a shot leads to the next shot, and in the last shot to the previous one", () => {
    expect(chooseAfterDelete(b, [b], order)).toBe(c);
    expect(chooseAfterDelete(c, [c], order)).toBe(b);
  });

  test("an older commit leads to the one before it, the oldest commit to the one after it", () => {
    const commits = [a, image({ name: "A" }), image({ name: "A" })];
    expect(chooseAfterDelete(commits[1] ?? a, commits, order)).toBe(commits[2]);
    expect(chooseAfterDelete(commits[2] ?? a, commits, order)).toBe(commits[1]);
  });

  test("the only shot leads to its older commit, and the last image leads nowhere", () => {
    const older = image({ name: "A" });
    expect(chooseAfterDelete(a, [a, older], [order[0] ?? shot("A", "1x1")])).toBe(older);
    expect(chooseAfterDelete(a, [a], [order[0] ?? shot("A", "1x1")])).toBeNull();
  });
});
