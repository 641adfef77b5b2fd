/** The commit that is checked out in the working folder. */
import { execFileSync } from "node:child_process";
import * as validate from "./validate.js";

const TIMEOUT_MS = 30_000;

/** Return the commit of the working folder; nothing when it is in no git repository. */
export function checkedOut(): string {
  try {
    const said = execFileSync("git", ["rev-parse", "--verify", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: TIMEOUT_MS,
    });
    return validate.commit(said);
  } catch {
    return ""; // no git, no repository, or a git that hangs
  }
}
