import { describe, expect, test } from "vitest";
import { afterDeleting, arrange, boxAspect } from "./arrange";
import { image, shot } from "./sample";

const layout = (rows: ReturnType<typeof arrange>) =>
  rows.map((row) => [row.name, ...row.cells.map((cell) => cell.newest.viewport)]);

describe("arranging the gallery", () => {
  test("one row per name, with viewports sorted by width, not alphabetically", () => {
    const rows = arrange([
      shot("Cart", "1280x800"),
      shot("Cart", "375x812"),
      shot("Cart", "768x1024"),
      shot("Home", "375x812"),
    ]);
    expect(layout(rows)).toEqual([
      ["Cart", "375x812", "768x1024", "1280x800"],
      ["Home", "375x812"],
    ]);
  });

  test("equal widths are sorted by height", () => {
    expect(layout(arrange([shot("A", "375x812"), shot("A", "375x667")]))).toEqual([
      ["A", "375x667", "375x812"],
    ]);
  });

  test("a name that continues on the next page stays one row", () => {
    const first = [shot("Cart", "1280x800"), shot("Home", "1280x800")];
    const second = [shot("Home", "375x812"), shot("Pay", "375x812")];
    expect(layout(arrange([...first, ...second]))).toEqual([
      ["Cart", "1280x800"],
      ["Home", "375x812", "1280x800"],
      ["Pay", "375x812"],
    ]);
  });

  test("names that differ only by a space are different rows", () => {
    expect(arrange([shot("a", "1x1"), shot("a ", "1x1")])).toHaveLength(2);
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
    expect(afterDeleting(b, [b], order)).toBe(c);
    expect(afterDeleting(c, [c], order)).toBe(b);
  });

  test("an older commit leads to the one before it, the oldest commit to the one after it", () => {
    const commits = [a, image({ name: "A" }), image({ name: "A" })];
    expect(afterDeleting(commits[1] ?? a, commits, order)).toBe(commits[2]);
    expect(afterDeleting(commits[2] ?? a, commits, order)).toBe(commits[1]);
  });

  test("the only shot leads to its older commit, and the last image leads nowhere", () => {
    const older = image({ name: "A" });
    expect(afterDeleting(a, [a, older], [order[0] ?? shot("A", "1x1")])).toBe(older);
    expect(afterDeleting(a, [a], [order[0] ?? shot("A", "1x1")])).toBeNull();
  });
});
