/** Which attachments of a test are screenshots, and which of them belong together. */
import { basename } from "node:path";
import type { TestResult } from "@playwright/test/reporter";

export type Attachment = TestResult["attachments"][number];

/** A screenshot, and the one before if `toHaveScreenshot` compared it with one. */
export interface Screenshot {
  /** The attachment's name; empty for a screenshot that Playwright took itself. */
  name: string;
  picture: Attachment;
  before?: Attachment;
  /** Playwright took it because the test failed. */
  isOfFailure: boolean;
}

const IMAGES = new Set(["image/png", "image/jpeg", "image/webp"]);

/** Playwright's name for the screenshots that it takes itself. */
const AUTOMATIC = "screenshot";
const TAKEN_AT_FAILURE = /^test-failed-\d+\.(png|jpe?g)$/;

/** Playwright's names for the images of a `toHaveScreenshot` that did not match. */
const COMPARED = /^(.+)-(actual|expected|previous|diff)(\.(?:png|jpe?g|webp))$/is;

/**
 * Return the screenshots among a test's attachments. The images of a `toHaveScreenshot` are one: the actual image, with the
 * expected one as the one before. The difference is left out, because the service makes its own.
 */
export function screenshotsIn(attachments: readonly Attachment[]): Screenshot[] {
  const images = attachments.filter(({ contentType }) => IMAGES.has(contentType)).map(withRole);
  const like = (name: string, role: string) =>
    images.filter((image) => image.name === name && image.role === role).map(({ picture }) => picture);
  return images.flatMap(({ name, role, picture }) => {
    const actual = role ? like(name, "actual") : [];
    if (role === "actual") {
      const before = like(name, "expected")[actual.indexOf(picture)];
      return [{ name, picture, ...(before && { before }), isOfFailure: false }];
    }
    if (actual.length) return [];
    const isAutomatic = picture.name === AUTOMATIC;
    const isOfFailure = isAutomatic && TAKEN_AT_FAILURE.test(basename(picture.path ?? ""));
    return [{ name: isAutomatic ? "" : picture.name, picture, isOfFailure }];
  });
}

function withRole(picture: Attachment): { name: string; role: string; picture: Attachment } {
  const [, stem = "", role = "", extension = ""] = COMPARED.exec(picture.name) ?? [];
  return { name: role ? stem + extension : picture.name, role: role.toLowerCase(), picture };
}
