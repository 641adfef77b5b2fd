import { expect, test } from "vitest";
import { enclosingSize, relativeRegion, relativeSize, usableMode } from "./pair-layout";
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

test("a pair without a marked difference is shown side by side, and a single image has no mode", () => {
  const marked = comparedShot({ diff_url: "http://img.test/i/1.diff.png" });
  expect(usableMode(marked, "diff")).toBe("diff");
  expect(usableMode(comparedShot(), "diff")).toBe("side");
  expect(usableMode(comparedShot(), "overlay")).toBe("overlay");
  expect(usableMode(comparedShot({ before: null }), "slider")).toBeNull();
  expect(usableMode(comparedShot({ after: null }), "side")).toBeNull();
});
