import { expect, test } from "vitest";
import {
  expectedSize,
  fitScale,
  initialScale,
  largerScale,
  scaleLabel,
  smallerScale,
  toggleScale,
  zoomSteps,
} from "./zoom";

const stage = { width: 1000, height: 800 };
const desktop = { width: 2000, height: 1600 };
const icon = { width: 100, height: 100 };
const longPage = { width: 1250, height: 10_000 };

test("an image fits the stage, and a small one is not enlarged", () => {
  expect(fitScale(desktop, stage)).toBe(0.5);
  expect(fitScale(icon, stage)).toBe(1);
});

test("an image opens completely visible, and a long page fills the width", () => {
  expect(initialScale(desktop, stage)).toBe(0.5);
  expect(initialScale({ width: 375, height: 812 }, stage)).toBeCloseTo(0.985);
  expect(initialScale(longPage, stage)).toBe(0.8);
  expect(initialScale({ width: 375, height: 4000 }, stage)).toBe(1);
});

test("the label names the fit and width scales", () => {
  expect(scaleLabel(0.5, desktop, stage)).toBe("Fit");
  expect(scaleLabel(0.8, longPage, stage)).toBe("Width");
  expect(scaleLabel(1, icon, stage)).toBe("100 %");
  expect(scaleLabel(2, desktop, stage)).toBe("200 %");
});

test("a long page can be made smaller until all of it fits", () => {
  expect(zoomSteps(longPage, stage)).toEqual([0.08, 0.25, 0.5, 0.8, 1, 2, 4]);
});

test("steps that are too close are merged", () => {
  expect(zoomSteps({ width: 1010, height: 808 }, stage)).toEqual([1000 / 1010, 2, 4]);
});

test("plus and minus move through the steps and stop at the ends", () => {
  expect(largerScale(0.5, desktop, stage)).toBe(1);
  expect(largerScale(4, desktop, stage)).toBe(4);
  expect(smallerScale(1, desktop, stage)).toBe(0.5);
  expect(smallerScale(0.5, desktop, stage)).toBe(0.5);
});

test("a click toggles the original size, and a small image doubles", () => {
  expect(toggleScale(0.5, desktop, stage)).toBe(1);
  expect(toggleScale(1, desktop, stage)).toBe(0.5);
  expect(toggleScale(4, desktop, stage)).toBe(0.5);
  expect(toggleScale(1, icon, stage)).toBe(2);
  expect(toggleScale(0.8, longPage, stage)).toBe(1);
  expect(toggleScale(1, longPage, stage)).toBe(0.8);
});

test("an image that is still loading uses its thumbnail's aspect ratio and the viewport's width", () => {
  expect(expectedSize({ width: 1280, height: 800 }, { width: 320, height: 1600 })).toEqual({
    width: 1280,
    height: 6400,
  });
  expect(expectedSize({ width: 1280, height: 800 }, null)).toEqual({ width: 1280, height: 800 });
});
