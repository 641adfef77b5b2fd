/** The name of a screenshot in Playwright: its test, and the attachment's name. */
import { basename } from "node:path";
import type { TestCase, TestResult } from "@playwright/test/reporter";
import { clean, fitted, type Title, withoutSuffixes } from "../shot_names.js";

export type Attachment = TestResult["attachments"][number];

const TEST_FILE = /\.(spec|test|e2e)?\.?[cm]?[jt]sx?$/i;

/** Playwright's name for the screenshots that it takes itself. */
const AUTOMATIC = "screenshot";
const TAKEN_AT_FAILURE = /^test-failed-\d+\.(png|jpe?g)$/;

/**
 * Return an attachment's name: `file/describe/test/attachment`, after the project's name if the run has several. What
 * Playwright takes when a test fails is under `failed/`. A retry says so.
 */
export function titleOf(
  test: TestCase,
  result: TestResult,
  attachment: Attachment,
  severalProjects: boolean,
): Title {
  const [, project = "", file = "", ...titles] = test.titlePath();
  const parts = [file.replaceAll("\\", "/").replace(TEST_FILE, ""), ...titles];
  if (severalProjects && project) parts.unshift(project);
  const again = [
    ...(test.repeatEachIndex ? [`repeat ${test.repeatEachIndex}`] : []),
    ...(result.retry ? [`retry ${result.retry}`] : []),
  ];
  if (again.length) parts.push(`${parts.pop()} (${again.join(", ")})`);
  if (isOfFailure(attachment)) parts.unshift("failed");

  const own = withoutSuffixes(attachment.name);
  if (own.name !== AUTOMATIC) parts.push(own.name);
  const name = parts.map((part) => clean(part).trim()).filter(Boolean);
  return { ...own, name: fitted(name.join("/")) };
}

function isOfFailure(attachment: Attachment): boolean {
  return attachment.name === AUTOMATIC && TAKEN_AT_FAILURE.test(basename(attachment.path ?? ""));
}
