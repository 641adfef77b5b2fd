/** The commands and their options: what `--help` shows, and what parseArgs takes. */
import { FORGES } from "../ci/job.js";
import { GATES } from "../commands/compare.js";
import { COMPARE_FORMATS, UPLOAD_FORMATS } from "../commands/output.js";
import { VIEWS } from "../service.js";
import { DEFAULT_CONCURRENCY } from "../upload.js";

export interface Option {
  /** Without the dashes. */
  name: string;
  short?: string;
  /** What the option takes; nothing for a flag. */
  takes?: string;
  /** The values that it takes, if there are only these. */
  choices?: readonly string[];
  /** The environment variable that sets it, too. */
  variable?: string;
  help: string;
}

export interface Command {
  arguments: string;
  summary: string;
  details: string[];
  options: Option[];
}

const SERVICE: Option[] = [
  { name: "url", takes: "URL", variable: "PRSHOTS_URL", help: "The address of your prshots service." },
  {
    name: "token",
    takes: "TOKEN",
    variable: "PRSHOTS_TOKEN",
    help: "An upload token. Default: exchange the CI job's ID token for one (keyless upload).",
  },
  {
    name: "project",
    takes: "NAME",
    variable: "PRSHOTS_PROJECT",
    help: "For keyless upload: the project, as organization/name or its id.",
  },
];

const PR: Option = {
  name: "pr",
  takes: "N",
  variable: "PRSHOTS_PR",
  help: "The pull request's number. Default: the one that CI runs for.",
};

const COMMIT: Option = {
  name: "commit",
  takes: "SHA",
  variable: "PRSHOTS_COMMIT",
  help: "The commit of the screenshots. Default: the pull request's head in CI, otherwise git's HEAD.",
};

const BRANCH: Option = {
  name: "branch",
  takes: "NAME",
  variable: "PRSHOTS_BRANCH",
  help: "The branch that has the baselines. Default: the pull request's target, or the default branch.",
};

const QUIET: Option = {
  name: "quiet",
  short: "q",
  help: "Print no messages, only failures and the output for scripts.",
};

const FORGE: Option[] = [
  {
    name: "forge",
    takes: "FORGE",
    choices: FORGES,
    variable: "PRSHOTS_FORGE",
    help: "The forge of the pull request. Default: detected in CI.",
  },
  {
    name: "forge-url",
    takes: "URL",
    variable: "PRSHOTS_FORGE_URL",
    help: "The base URL of the forge's API, such as https://gitlab.example.com/api/v4.",
  },
  {
    name: "repository",
    takes: "OWNER/NAME",
    variable: "PRSHOTS_REPOSITORY",
    help: "The pull request's repository. On GitLab: the project's path or id.",
  },
  {
    name: "forge-token",
    takes: "TOKEN",
    variable: "PRSHOTS_FORGE_TOKEN",
    help: "A forge token that may write comments. Default: GITHUB_TOKEN, GITLAB_TOKEN, …",
  },
];

function format(choices: readonly string[]): Option {
  return {
    name: "format",
    takes: "FORMAT",
    choices,
    help: "What to print. Default: table, or nothing with --quiet.",
  };
}

const UPLOAD: Option[] = [
  { name: "name", takes: "NAME", help: "The screenshot's name. For a single file only." },
  { name: "base", takes: "DIR", help: "Name screenshots by their path relative to this folder." },
  {
    name: "viewport",
    takes: "WxH",
    help:
      "The viewport of all screenshots. Default: the suffix of the file name (cart@1280x800.png), otherwise the " +
      "image's size in pixels.",
  },
  {
    name: "theme",
    takes: "light|dark",
    help:
      "The theme of all screenshots. Default: the suffix of the file name (cart@1280x800.dark.png), otherwise " +
      "none.",
  },
  BRANCH,
  {
    name: "baseline",
    help: "Upload baselines of the branch. Default: if the job builds the default branch.",
  },
  { name: "no-compare", help: "Do not compare with the base." },
  {
    name: "partial",
    help: "These are not all screenshots of the commit: one of several shards, or only some tests ran.",
  },
  { name: "jobs", takes: "N", help: `How many uploads run at a time. Default: ${DEFAULT_CONCURRENCY}.` },
  { name: "shrink", help: "Recompress images that are too large for the service. Here: only PNGs." },
  { name: "dry-run", help: "Print what would be uploaded, and send nothing." },
  format(UPLOAD_FORMATS),
  QUIET,
  { name: "allow-empty", help: "Succeed if there are no screenshots, or a path does not exist." },
];

export const COMMANDS: Record<string, Command> = {
  upload: {
    arguments: "PATH…",
    summary: "Upload screenshots to a pull request, and compare them.",
    details: [
      "PATH is a file, a folder or a glob. A glob with ** searches all folders below.",
      "They are compared with the baselines of the target branch. A job of the default branch uploads baselines.",
      "Exit codes: 0 all uploaded, 1 none uploaded, 2 invalid arguments, 3 some uploaded.",
    ],
    options: [...SERVICE, PR, COMMIT, ...UPLOAD],
  },
  compare: {
    arguments: "",
    summary: "Compare a pull request's screenshots with their baselines.",
    details: [
      "The baselines are those of the target branch. In a job of that branch, --complete says that all its " +
        "baselines are uploaded.",
      "Exit codes: 0 compared, 1 failure, 2 invalid arguments, 4 a shot has a verdict of --fail-on.",
    ],
    options: [
      PR,
      COMMIT,
      BRANCH,
      {
        name: "complete",
        help: "All screenshots of the commit are uploaded, so a missing one was removed.",
      },
      {
        name: "fail-on",
        takes: "VERDICTS",
        help: `Exit with 4 if a shot has one of these (comma-separated): ${GATES.join(", ")}.`,
      },
      format(COMPARE_FORMATS),
      QUIET,
      ...SERVICE,
    ],
  },
  comment: {
    arguments: "",
    summary: "Print the pull request's comment as markdown, or post it.",
    details: [
      "With --post, the pull request gets one comment. Later runs update it. The comment's address is printed.",
    ],
    options: [
      PR,
      { name: "post", help: "Create or update the comment on the pull request." },
      {
        name: "template",
        takes: "FILE",
        help: "A text to put around the screenshots. It contains {{screenshots}}.",
      },
      {
        name: "view",
        takes: "VIEW",
        choices: VIEWS,
        help:
          "What to show: all images, the latest of each shot, or the changes since the base. Default: changes if " +
          "there is a comparison, otherwise latest.",
      },
      QUIET,
      ...SERVICE,
      ...FORGE,
    ],
  },
  expire: {
    arguments: "",
    summary: "Expire a closed pull request's screenshots.",
    details: [
      "If it was merged, its changes become baselines first. The project's policy decides whether the " +
        "screenshots are deleted. With --post, the comment then says that they were deleted, and GitHub's image " +
        "proxy drops its copies.",
    ],
    options: [
      PR,
      { name: "post", help: "Also update the comment, so that it shows no broken images." },
      {
        name: "merged-as",
        takes: "SHA",
        help: "The commit that the pull request was merged as. Default: from the event of the job.",
      },
      BRANCH,
      { name: "json", help: "Print JSON." },
      QUIET,
      ...SERVICE,
      ...FORGE,
    ],
  },
  delete: {
    arguments: "ID…",
    summary: "Delete screenshots now, regardless of the project's policy.",
    details: [
      "ID is an image's id, as printed by `prshots upload --format json`.",
      "Exit code 1 if one could not be deleted. The others are still deleted.",
    ],
    options: [QUIET, ...SERVICE],
  },
};
