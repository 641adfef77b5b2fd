import { describe, expect, test } from "vitest";
import {
  alignPieces,
  cutPosition,
  enclosingSize,
  pieceStyle,
  relativeRegion,
  relativeSize,
  usableMode,
} from "./pair-layout";
import { comparedShot } from "./sample-comparisons";

test("two images of different heights share one box, and regions are relative to it", () => {
  const whole = enclosingSize({ width: 1280, height: 8000 }, { width: 1000, height: 8048 });
  expect(whole).toEqual({ width: 1280, height: 8048 });
  expect(relativeSize({ width: 640, height: 2012 }, whole)).toEqual({ width: "50%", height: "25%" });
  expect(relativeRegion([320, 2012, 128, 4024], whole)).toEqual({
    left: "25%",
    top: "25%",
    width: "10%",
    height: "50%",
  });
});

describe("alignPieces", () => {
  const size = (height: number) => ({ width: 600, height });
  type Regions = Parameters<typeof alignPieces>[0]["regions"];
  const pieces = (regions: Regions, shift: number, before: number, after: number) =>
    alignPieces({ regions, shift }, size(before), size(after)).map(({ from, to, by }) => [from, to, by]);

  test.each<[string, Regions, number, number, number, number[][]]>([
    ["nothing moved", [[0, 10, 600, 40]], 0, 500, 500, [[0, 500, 0]]],
    ["a banner at the top", [[0, 0, 600, 24]], 24, 500, 524, [[0, 500, 24]]],
    [
      "one row inserted",
      [
        [0, 196, 600, 53],
        [20, 300, 40, 8],
      ],
      53,
      500,
      553,
      [
        [0, 196, 0],
        [196, 500, 53],
      ],
    ],
    [
      "two sections",
      [
        [0, 129, 600, 81],
        [0, 372, 600, 81],
      ],
      162,
      500,
      662,
      [
        [0, 129, 0],
        [129, 291, 81],
        [291, 500, 162],
      ],
    ],
    [
      "rows removed",
      [[0, 209, 600, 2]],
      -81,
      500,
      419,
      [
        [0, 210, 0],
        [291, 500, -81],
      ],
    ],
    [
      "a page of fixed height",
      [
        [0, 215, 600, 53],
        [0, 390, 600, 2],
      ],
      53,
      500,
      500,
      [
        [0, 215, 0],
        [215, 338, 53],
        [391, 500, 0],
      ],
    ],
    [
      "a recolored header besides",
      [
        [0, 0, 600, 40],
        [0, 215, 600, 53],
      ],
      53,
      500,
      553,
      [
        [0, 215, 0],
        [215, 500, 53],
      ],
    ],
    [
      "rows removed in two places",
      [
        [0, 100, 600, 2],
        [0, 300, 600, 2],
      ],
      -90,
      500,
      410,
      [[0, 500, 0]],
    ],
  ])("%s", (_, regions, shift, before, after, expected) => {
    expect(pieces(regions, shift, before, after)).toEqual(expected);
  });

  test("a piece is cut out of its image and moved", () => {
    expect(pieceStyle({ from: 100, to: 400, by: 50 }, size(400), size(500))).toEqual({
      width: "100%",
      height: "80%",
      top: "10%",
      clipPath: "inset(25% 0 0%)",
    });
  });
});

test("a long page is cut around a row, but never beyond its ends", () => {
  const page = { width: 1000, height: 4000 };
  expect(cutPosition(1750, page, 1)).toBe("0 50%");
  expect(cutPosition(100, page, 1)).toBe("0 0%");
  expect(cutPosition(3990, page, 1)).toBe("0 100%");
  expect(cutPosition(10, { width: 1000, height: 500 }, 1)).toBe("0 0%");
});

test("a pair without a marked difference is shown side by side, and a single image has no mode", () => {
  const marked = comparedShot({ diff_url: "http://img.test/i/1.diff.png" });
  expect(usableMode(marked, "diff")).toBe("diff");
  expect(usableMode(comparedShot(), "diff")).toBe("side");
  expect(usableMode(comparedShot(), "overlay")).toBe("overlay");
  expect(usableMode(comparedShot({ before: null }), "slider")).toBeNull();
  expect(usableMode(comparedShot({ after: null }), "side")).toBeNull();
});
