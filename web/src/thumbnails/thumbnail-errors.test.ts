import { expect, test } from "vitest";
import { image } from "../gallery/sample-shots";
import { BOX_WORDS, LIGHTBOX_WORDS, missingOf } from "./thumbnail-errors";

test("an image that has a thumbnail, or may get one, misses nothing", () => {
  expect(missingOf(image({ thumbnail: "made" }))).toBeNull();
  expect(missingOf(image({ thumbnail: null }))).toBeNull();
});

test("every reason has its own words", () => {
  for (const words of [BOX_WORDS, LIGHTBOX_WORDS]) {
    expect(new Set(Object.values(words)).size).toBe(3);
    expect(words[missingOf(image({ thumbnail: "damaged" })) ?? "too_large"]).toContain("Damaged image");
  }
});
