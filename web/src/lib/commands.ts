/** The commands that pages suggest. A test runs each of them. */

export const uploadBaselinesCommand = "prshots upload --baseline screenshots/";

export const compareCommand = (prNumber: number, commitSha: string): string =>
  `prshots compare --pr ${prNumber} --commit ${commitSha}`;

export const completeCommand = (prNumber: number, commitSha: string): string =>
  `prshots compare --complete --pr ${prNumber} --commit ${commitSha}`;

export const showCommand = "prshots show screenshot.png";
