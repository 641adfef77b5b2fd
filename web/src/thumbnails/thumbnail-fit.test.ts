import { expect, test } from "vitest";
import { thumbnailFit } from "./thumbnail-fit";

const box = { width: 435, height: 272 };

test("a page with the viewport's aspect ratio fills its box", () => {
  expect(thumbnailFit({ width: 480, height: 300 }, box)).toBe("whole");
  expect(thumbnailFit({ width: 480, height: 270 }, box)).toBe("whole");
});

test("a long page shows its top, even if its thumbnail is narrower than the box", () => {
  expect(thumbnailFit({ width: 218, height: 480 }, box)).toBe("top");
});

test("a button is not enlarged, and a wide strip is not cropped", () => {
  expect(thumbnailFit({ width: 160, height: 48 }, box)).toBe("small");
  expect(thumbnailFit({ width: 480, height: 60 }, box)).toBe("top");
});
