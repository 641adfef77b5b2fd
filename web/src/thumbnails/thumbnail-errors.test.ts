import { expect, test } from "vitest";
import { image } from "../gallery/sample-shots";
import { BOX_MESSAGES, LIGHTBOX_MESSAGES, thumbnailErrorOf } from "./thumbnail-errors";

test("an image that has a thumbnail, or may get one, has no error", () => {
  expect(thumbnailErrorOf(image({ thumbnail: "made" }))).toBeNull();
  expect(thumbnailErrorOf(image({ thumbnail: null }))).toBeNull();
});

test("every error has its own messages", () => {
  for (const words of [BOX_MESSAGES, LIGHTBOX_MESSAGES]) {
    expect(new Set(Object.values(words)).size).toBe(3);
    expect(words[thumbnailErrorOf(image({ thumbnail: "damaged" })) ?? "too_large"]).toContain(
      "Damaged image",
    );
  }
});
