import { expect, test } from "vitest";
import {
  alignPieces,
  atBefore,
  cutPosition,
  enclosingSize,
  offsetInView,
  pieceStyle,
  relativeRegion,
  relativeSize,
  restStyle,
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

type Boxes = Parameters<typeof alignPieces>[0];

const banner: Boxes["moves"] = [[0, 64, 600, 400, 0, 64]];
const wider: Boxes["moves"] = [
  [201, 0, 400, 90, 1, 0],
  [201, 130, 400, 90, 1, 0],
  [0, 300, 200, 20, 0, 24],
];

test("content that moved is cut out of the before image and drawn where the after image has it", () => {
  const [piece, ...others] = alignPieces({ regions: [[0, 0, 600, 64]], moves: banner });
  expect([piece, others]).toEqual([{ box: [0, 0, 600, 400], dx: 0, dy: 64 }, []]);
  const size = { width: 600, height: 800 };
  expect(piece && pieceStyle(piece, size, { width: 600, height: 1600 })).toEqual({
    width: "100%",
    height: "50%",
    left: "0%",
    top: "4%",
    clipPath: "inset(0% 0% 50% 0%)",
  });
  const holes = "0% 0%, 100% 0%, 100% 50%, 0% 50%, 0% 0%, 0% 0%";
  expect(restStyle([{ box: [0, 0, 600, 400], dx: 0, dy: 64 }], size, size).clipPath).toBe(
    `polygon(evenodd, 0% 0%, 100% 0%, 100% 100%, 0% 100%, 0% 0%, ${holes})`,
  );
  expect(restStyle([], size, size)).toEqual({ width: "100%", height: "100%" });
});

test.each<[string, Boxes, number[][]]>([
  ["a word amid content that moved", { regions: [[250, 100, 40, 20]], moves: wider }, [[249, 100, 40, 20]]],
  ["a row that came in above what it pushed down", { regions: [[0, 0, 600, 64]], moves: banner }, []],
  ["a change far from everything", { regions: [[250, 600, 40, 20]], moves: wider }, []],
  ["nothing moved", { regions: [[0, 0, 9, 9]], moves: [] }, []],
])("%s", (_, shot, amid) => {
  expect(
    alignPieces(shot)
      .slice(shot.moves.length)
      .map(({ box }) => box),
  ).toEqual(amid);
});

test("the view is aligned by the move that fills most of it, else by the largest", () => {
  const view = (left: number, top: number) => ({ left, top, width: 200, height: 100 });
  expect(offsetInView(wider, view(200, 0), "after")).toEqual([1, 0]);
  expect(offsetInView(wider, view(0, 290), "after")).toEqual([0, 24]);
  expect(offsetInView(wider, view(0, 190), "before")).toEqual([0, 24]);
  expect(offsetInView(wider, view(0, 900), "before")).toEqual([1, 0]);
  expect(offsetInView([], view(0, 0), "before")).toEqual([0, 0]);
  expect(atBefore([10, 500, 40, 20], banner)).toEqual([10, 436, 40, 20]);
  expect(atBefore([10, 0, 40, 20], banner)).toEqual([10, 0, 40, 20]);
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
