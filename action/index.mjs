// Built from clients/node/src/action by `make format`. Do not edit.

// src/errors.ts
var PrshotsError = class extends Error {
  name = "PrshotsError";
};
var InvalidInputError = class extends PrshotsError {
  name = "InvalidInputError";
};
var ImageAddressError = class extends InvalidInputError {
  name = "ImageAddressError";
};
var ClosedPullRequestError = class extends PrshotsError {
  name = "ClosedPullRequestError";
};
var RefusedInputError = class extends InvalidInputError {
  name = "RefusedInputError";
};
var NoScreenshotsError = class extends PrshotsError {
  name = "NoScreenshotsError";
};
var PayloadTooLargeError = class extends RefusedInputError {
  name = "PayloadTooLargeError";
};
var UnauthorizedError = class extends PrshotsError {
  name = "UnauthorizedError";
};
var RateLimitedError = class extends PrshotsError {
  name = "RateLimitedError";
};
var NotFoundError = class extends PrshotsError {
  name = "NotFoundError";
};
var CallError = class extends PrshotsError {
  name = "CallError";
};
var WrongAddressError = class extends CallError {
  name = "WrongAddressError";
};
var UnreachableError = class extends CallError {
  name = "UnreachableError";
};
var ForgeError = class extends CallError {
  name = "ForgeError";
};
var ForgeRefusedError = class extends ForgeError {
  name = "ForgeRefusedError";
};
var EXPIRE_FAILED = "expire failed, retry later";
var QUOTA_REACHED = "storage quota reached";
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

// src/proxy.ts
import * as http from "node:http";
var VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
function throughProxy(environ, set = http.setGlobalProxyFromEnv ?? null) {
  const variable = VARIABLES.find((name) => environ[name]);
  if (!variable || environ.NODE_USE_ENV_PROXY === "1") return "";
  if (!set) return `Node ${process.version} ignores the proxy of ${variable}: use Node 24.14 or newer`;
  try {
    set(environ);
    return "";
  } catch {
    return `${variable} is ignored, because it is not the address of a proxy: use http://HOST:PORT`;
  }
}

// src/contract.ts
var CONTRACT = {
  "variables": [
    "URL",
    "TOKEN",
    "PROJECT",
    "PR",
    "COMMIT",
    "BRANCH",
    "ID_TOKEN",
    "FORGE",
    "FORGE_URL",
    "FORGE_TOKEN",
    "REPOSITORY",
    "TIMEOUT"
  ],
  "exit_codes": {
    "failed": 1,
    "invalid_arguments": 2,
    "some_failed": 3,
    "gated": 4,
    "interrupted": 130
  },
  "error_codes": {
    "PrshotsError": "failed",
    "InvalidInputError": "invalid_arguments",
    "ImageAddressError": "invalid_arguments",
    "NotFoundError": "not_found",
    "NoScreenshotsError": "no_screenshots",
    "ClosedPullRequestError": "pull_request_closed",
    "RefusedInputError": "refused",
    "PayloadTooLargeError": "refused",
    "UnsupportedTypeError": "refused",
    "UnauthorizedError": "unauthorized",
    "RateLimitedError": "rate_limited",
    "UnreachableError": "unreachable",
    "WrongAddressError": "wrong_address",
    "ForgeError": "forge_failed",
    "ForgeRefusedError": "forge_failed"
  },
  "general_help": [
    "Options can also be PRSHOTS_* environment variables.",
    "Exit codes: 0 success, 1 failure, 2 an option or a setting is missing or invalid."
  ],
  "commands": {
    "upload": {
      "argument": { "name": "PATH…", "help": "Files, folders or globs. ** in a glob matches folders at any depth." },
      "summary": "Upload screenshots to a pull request, and compare them.",
      "details": [
        "Compares them with the target branch's baselines. A job on the default branch uploads baselines.",
        "Exit codes: 0 all uploaded, 1 none uploaded, 2 invalid arguments, 3 some uploaded."
      ],
      "options": [
        "url",
        "token",
        "project",
        "pr",
        "commit",
        "name",
        "base",
        "viewport",
        "theme",
        "branch",
        "baseline",
        "no-compare",
        "partial",
        "jobs",
        "shrink",
        "dry-run",
        "json",
        "upload-format",
        "quiet",
        "timeout",
        "allow-empty"
      ]
    },
    "compare": {
      "summary": "Compare a pull request's screenshots with their baselines.",
      "details": [
        "The baselines are those of the target branch. In a job on that branch, --complete marks its baselines complete.",
        "Exit codes: 0 compared, 1 failure, 2 invalid arguments, 4 a shot matched --fail-on."
      ],
      "options": [
        "pr",
        "commit",
        "branch",
        "complete",
        "fail-on",
        "approved-pass",
        "json",
        "compare-format",
        "quiet",
        "timeout",
        "url",
        "token",
        "project"
      ]
    },
    "comment": {
      "summary": "Print the pull request's comment as markdown, or post it.",
      "details": [
        "With --post, creates one comment on the pull request, and later runs update it. Prints the comment's address."
      ],
      "options": [
        "pr",
        "post",
        "template",
        "view",
        "quiet",
        "timeout",
        "url",
        "token",
        "project",
        "forge",
        "forge-url",
        "repository",
        "forge-token"
      ]
    },
    "gate": {
      "summary": "Print whether changes are approved, and set the commit status.",
      "details": [
        "In CI, sets the status prshots on the job's commit with the job's forge token. You can make it a required check. If the repository has several projects, also sets prshots/NAME for each.",
        "Exit codes: 0 success, 1 failure, 2 invalid arguments, 4 with --fail if the gate has not passed."
      ],
      "options": [
        "pr",
        "commit",
        "fail",
        "skip",
        "no-baseline",
        "json",
        "quiet",
        "timeout",
        "url",
        "token",
        "project",
        "forge",
        "forge-url",
        "repository",
        "forge-token"
      ]
    },
    "expire": {
      "summary": "Expire a closed pull request's screenshots.",
      "details": [
        "If it was merged, its changes become baselines first. The project's policy decides whether the screenshots are deleted. With --post, the comment then says that they were deleted, the description no longer shows them, and GitHub's image proxy drops its copies."
      ],
      "options": [
        "pr",
        "expire-post",
        "merged-as",
        "branch",
        "json",
        "quiet",
        "timeout",
        "url",
        "token",
        "project",
        "forge",
        "forge-url",
        "repository",
        "forge-token"
      ]
    },
    "delete": {
      "argument": { "name": "ID…", "help": "Image ids, as `prshots upload` prints them with `--json`." },
      "summary": "Delete screenshots now, regardless of the project's policy.",
      "details": ["Exits with 1 if one can't be deleted. The others are still deleted."],
      "options": ["quiet", "timeout", "url", "token", "project"]
    }
  },
  "options": {
    "version": { "help": "Print the version and exit." },
    "url": { "takes": "URL", "variable": "PRSHOTS_URL", "help": "The address of your prshots service." },
    "token": {
      "takes": "TOKEN",
      "variable": "PRSHOTS_TOKEN",
      "help": "An upload token. Default: exchange the CI job's ID token for one (keyless upload)."
    },
    "project": {
      "takes": "NAME",
      "variable": "PRSHOTS_PROJECT",
      "help": "For keyless upload: the project, as organization/name or its id."
    },
    "pr": {
      "takes": "N",
      "variable": "PRSHOTS_PR",
      "help": "The pull request's number. Default: the CI job's pull request."
    },
    "commit": {
      "takes": "SHA",
      "variable": "PRSHOTS_COMMIT",
      "help": "The commit of the screenshots. Default: the pull request's head in CI, otherwise git's HEAD."
    },
    "branch": {
      "takes": "NAME",
      "variable": "PRSHOTS_BRANCH",
      "help": "The branch with the baselines. Default: the pull request's target, otherwise the default branch."
    },
    "timeout": {
      "takes": "SECONDS",
      "variable": "PRSHOTS_TIMEOUT",
      "default": 300,
      "largest": 86400,
      "help": "How many seconds the whole command may take, including retries and waits."
    },
    "quiet": { "short": "q", "help": "Print only failures and the output for scripts." },
    "forge": {
      "takes": "FORGE",
      "choices": ["github", "gitlab", "gitea", "bitbucket"],
      "variable": "PRSHOTS_FORGE",
      "help": "The pull request's forge. Default: detected in CI."
    },
    "forge-url": {
      "takes": "URL",
      "variable": "PRSHOTS_FORGE_URL",
      "help": "The base URL of the forge's API, such as https://gitlab.example.com/api/v4."
    },
    "repository": {
      "takes": "OWNER/NAME",
      "variable": "PRSHOTS_REPOSITORY",
      "help": "The pull request's repository. On GitLab: the project's path or id."
    },
    "forge-token": {
      "takes": "TOKEN",
      "variable": "PRSHOTS_FORGE_TOKEN",
      "help": "A forge token that can write comments. Default: GITHUB_TOKEN, GITLAB_TOKEN, …"
    },
    "name": { "takes": "NAME", "help": "The screenshot's name. For a single file only." },
    "base": { "takes": "DIR", "help": "Name screenshots by their path relative to this folder." },
    "viewport": {
      "takes": "WxH",
      "help": "The viewport of all screenshots. Default: the suffix of the file name (cart@1280x800.png), otherwise the image's size in pixels."
    },
    "theme": {
      "takes": "light|dark",
      "help": "The theme of all screenshots. Default: the suffix of the file name (cart@1280x800.dark.png), otherwise none."
    },
    "baseline": { "help": "Upload the branch's baselines. Default: only in jobs on the default branch. Without CI, the default branch must be checked out, or set --branch." },
    "no-compare": { "help": "Don't compare with the base." },
    "partial": { "help": "Not all of the commit's screenshots: one of several shards, or only some tests ran." },
    "jobs": { "takes": "N", "default": 8, "largest": 64, "help": "How many uploads run at a time." },
    "shrink": { "help": "Recompress images that are too large for the service." },
    "dry-run": { "help": "Print what would be uploaded, and send nothing." },
    "upload-format": {
      "name": "format",
      "takes": "FORMAT",
      "choices": ["table", "json", "markdown", "github-output"],
      "help": "The output format. Default: table, or none with --quiet."
    },
    "compare-format": {
      "name": "format",
      "takes": "FORMAT",
      "choices": ["table", "json", "github-output"],
      "help": "The output format. Default: table, or none with --quiet."
    },
    "allow-empty": { "help": "Succeed even if there are no screenshots, or a path doesn't exist." },
    "complete": { "help": "All of the commit's screenshots are uploaded, so a missing one was removed." },
    "fail-on": {
      "takes": "VERDICTS",
      "help": "Exit with 4 if a shot has one of these verdicts (comma-separated): changed, moved, new, removed, failed."
    },
    "approved-pass": {
      "help": "With --fail-on: ignore shots that are approved or quarantined, or that alternate on the base branch."
    },
    "fail": { "help": "Exit with 4 unless the project's own gate has passed." },
    "skip": {
      "takes": "REASON",
      "help": "For a run that takes no screenshots: let the project pass, with this reason as the status's description."
    },
    "no-baseline": {
      "takes": "ACTION",
      "choices": ["block", "pass"],
      "help": "What to do while the base branch has no baselines, as with the first pull requests. Default: block."
    },
    "post": { "help": "Create or update the comment on the pull request." },
    "template": {
      "takes": "FILE",
      "help": "A file with text to put around the screenshots. It contains {{screenshots}}."
    },
    "view": {
      "takes": "VIEW",
      "choices": ["all", "latest", "changes"],
      "help": "What to show: all images, the latest image of each shot, or each change once. Default: changes if there is a comparison, otherwise latest."
    },
    "expire-post": { "name": "post", "help": "Also update the comment and the pull request's description, so that they show no broken images." },
    "merged-as": {
      "takes": "SHA",
      "help": "The commit that the pull request was merged as. Default: from the job's event."
    },
    "json": { "help": "Print JSON, even about a failure." }
  },
  "messages": {
    "no_service_url": "no service URL: set {--url} to an address such as https://prshots.example.com",
    "url_has_password": "{--url} must not contain a user name or a password",
    "use_address": "use an address such as https://prshots.example.com",
    "did_you_mean": "did you mean {meant}?",
    "invalid_url": "{--url} is not an address: got {given}; {advice}",
    "misspelled_variable": "unknown variable {name} is ignored: did you mean {meant}?",
    "pull_request_rule": "the number of a pull request, such as 7",
    "commit_rule": "7 to 40 hexadecimal characters",
    "full_commit_rule": "all 40 hexadecimal characters of the commit",
    "branch_rule": "the name of a branch, such as main",
    "verdicts_rule": "one or more of {verdicts}, comma-separated",
    "no_ci": "no supported CI detected",
    "job_without_pull_request": "this {ci} job doesn't run for one",
    "no_pull_request": "no pull request: {why}. Set {--pr}",
    "baseline_in_pull_request": "--baseline is for jobs on a branch, but this job runs for a pull request, which never writes baselines",
    "no_baseline_branch": "no branch for the baselines: set {--branch}",
    "unknown_commit": "git doesn't know {sha}",
    "no_commit_named": "neither CI nor git names one",
    "no_baseline_commit": "no commit for the baselines: {why}. Set {--commit} to all 40 characters",
    "pull_request_closed": "Pull request {number} is closed, so nothing was sent.",
    "run_has_failed": "Note: the workflow run did not succeed, so its screenshots are not marked complete.",
    "baselines_of": "the baselines of {branch}",
    "pull_request": "pull request {number}",
    "no_screenshots_found": "no screenshots found: no PNG, JPEG or WebP at {searched} in {folder}. If that is fine, use {--allow-empty}",
    "nothing_to_upload": "No screenshots to upload.",
    "real_upload_needs": "A real upload also needs this: {problem}",
    "list_with_json": " To list them, use --json.",
    "dry_run": "Dry run: {count} would be uploaded to {target}, commit {commit}. Nothing was sent.{listed}",
    "would_shrink": "is {size}; would be shrunk below the service's limit (default {limit})",
    "over_default_limit": "warning: is {size}, over the default limit of {limit}; {--shrink} makes it fit",
    "use_shrink": "To recompress images that are too large, use {--shrink}.",
    "already_there": ", {count} of them already there",
    "not_tried_count": " {count} not tried.",
    "uploaded_summary": "Uploaded {count} of {total} screenshots to {target}{already_there}.{not_tried}",
    "complete_after_parallel_jobs": "Note: after the last of these parallel jobs, run {prshots compare --complete}.",
    "not_compared": "Warning: not compared: {problem}.",
    "interrupted": "Interrupted: {count} of {total} screenshots processed.",
    "uploading": "Uploading … {count} of {total}",
    "result_would_be_uploaded": "would be uploaded",
    "result_already_there": "already there",
    "result_uploaded": "uploaded",
    "dashboard": "Dashboard: {url}",
    "not_tried": "not tried: an earlier error stopped the upload",
    "too_large": "is {size}: the service takes less than {limit}",
    "shrunk": "shrunk from {before} to {after} as {format}",
    "too_large_to_shrink": "is larger than {limit}: too large to shrink",
    "too_many_pixels": "has more than {limit} pixels: too many to shrink",
    "cannot_shrink_enough": "cannot be shrunk enough",
    "nothing_to_compare": "Nothing to compare: this job uploads {target} at {commit}.",
    "baselines_complete": "Marked {target} at {commit} complete.",
    "gate_passed": "Nothing is left to review",
    "gate_waiting": "{shots} to review",
    "gate_rejected": "Changes were rejected",
    "gate_blocked": "The screenshots can't be reviewed yet",
    "gate_blocked_running": "The comparison is still running",
    "gate_blocked_incomplete": "Some screenshots are missing in this run",
    "gate_blocked_failed": "Some screenshots can't be compared",
    "gate_blocked_no_baseline": "The base branch has no baselines yet",
    "gate_blocked_not_compared": "The newest commit is not compared yet",
    "gate_line": "{state}: {words}",
    "status_line": "  {name}: {state}, {words}",
    "gate_of_other_commit": "The status was not set: the newest comparison is for commit {other}, not for this job's {commit}.",
    "nothing_to_gate": "Nothing to gate: this job runs for {branch}, not for a pull request.",
    "skipped": "Skipped: {reason}",
    "status_not_set": "Warning: can't set the status: {why}.",
    "status_set": "Set the status {name} of commit {commit} at {forge} to {state}.",
    "queue_unknown": "Note: git can't list the merge queue: {why}. Decisions about the pull requests ahead don't count.",
    "gated": "{shots} matched {--fail-on} {verdicts}.",
    "nothing_gated": "{--fail-on} {verdicts} can't pass: commit {commit} has no screenshots. Upload them first",
    "still_running": "the comparison is still running after {seconds} s: run {prshots compare} again",
    "still_comparing": "Still comparing after {seconds} s …",
    "comparison_replaced": "the comparison of {commit} was replaced: the latest one is of {other}",
    "base_unknown": "Note: git can't find the base of {commit}: {why}. Compared with the newest baselines of {branch} instead.",
    "fetching_history": "Fetching the history of {what} …",
    "no_remote": "the checkout has no remote",
    "git_setting_not_replaced": "the git setting {key} can run a program: remove it",
    "git_does_not_run": "git does not run: {why}",
    "git_too_slow": "git took longer than {seconds} s",
    "git_failed": "git failed",
    "commit_not_in_checkout": "the checkout does not have the commit {commit}",
    "could_not_fetch": "Could not fetch {branch}: {why}. Using what the checkout has.",
    "no_shared_commit": "the checkout shows no commit that {branch} and {commit} share",
    "own_before_image": "its own before image",
    "own_before_images": "their own before images",
    "compared_with_own": "Compared with {own}: {counts}.",
    "pairs_with_own": " ({pairs} with {own})",
    "compared": "Compared with {base}: {counts}{pairs}.",
    "no_baselines": "Nothing to compare with: {branch} has no baselines yet. Run this job on {branch}, or check it out and run prshots upload --baseline screenshots/",
    "base_at": "{branch} at {commit}",
    "no_screenshots": "no screenshots",
    "comparison_failed": "The comparison with {branch} failed. Run {prshots compare} again.",
    "others_not_compared": "{summary} The other screenshots are not compared: {branch} has no baselines yet.",
    "incomplete": "{summary} Some of the base's screenshots are missing in this run: see {prshots compare --complete}.",
    "shot_not_compared": "{shot}: not compared{reason}",
    "verdict_of_pair": "{verdict} (own before image)",
    "verdict_since_newest": "{verdict} (since the newest baseline)",
    "rows_inserted": "{rows} rows inserted",
    "rows_removed": "{rows} rows removed",
    "nothing_to_comment_on": "Nothing to comment on: this job runs for {branch}, not for a pull request.",
    "comment_created": "Posted the comment on pull request {number} at {forge}.",
    "comment_updated": "Updated the comment on pull request {number} at {forge}.",
    "comment_unchanged": "The comment on pull request {number} at {forge} was already up to date.",
    "comment_kept": "Left the comment on pull request {number} at {forge} as it is, because another account wrote it.",
    "comment_kept_current": "CI keeps the comment current",
    "comment_is_older": "CI keeps the comment current. The comment shows an older state; CI updates it on its next run",
    "comment_none": "Pull request {number} at {forge} has no screenshots, so no comment was posted.",
    "template_left_out": "the template is left out: it is too long for a comment on {forge}",
    "without_image": "the comment has no image of {count} of {total} screenshots, because it can have at most {limit} bytes",
    "unreachable_images": "{forge} can't fetch the images from {address}, which isn't on the internet, so the comment shows none: set PRSHOTS_IMG_URL on the service to a public address",
    "staged_moved": "{screenshots} moved to pull request {number}",
    "staged_not_moved": "{screenshots} not moved: {why}",
    "staged_of_branch_not_moved": "staged screenshots of {branch} not moved: {why}",
    "run_uploaded": "{screenshots} uploaded to {target}",
    "run_not_uploaded": "{screenshots} not uploaded: {why}",
    "not_compared_because": "not compared: {why}",
    "run_commented": "comment {outcome}",
    "run_commented_at": "comment {outcome}: {url}",
    "run_commented_with_warning": "{commented}. Warning: {warning}",
    "run_not_commented": "the comment was not posted: {why}",
    "kept_as_baselines": "Kept {screenshots} of the merged pull request as baselines. {closed}",
    "deleted": "Deleted {screenshots} of pull request {number}.",
    "marked_closed": "Marked {screenshots} of pull request {number} as closed. The project's policy, {policy}, keeps them for now.",
    "comment_still_shows": "Did not change the comment: it still shows {screenshots}.",
    "comment_says_deleted": "Updated the comment: it says that the screenshots were deleted.",
    "comment_up_to_date": "The comment was already up to date.",
    "comment_of_other_account": "Did not change the comment, because another account wrote it: CI keeps the comment current.",
    "screenshot_deleted": "_(screenshot deleted)_",
    "description_cleaned": "Replaced {screenshots} in the description.",
    "description_not_changed": "Warning: can't update the description, which may still show deleted screenshots: {why}.",
    "no_comment_to_update": "There is no comment to update.",
    "proxy_kept_copies": "Warning: the image proxy kept {count} of its copies. They expire on their own.",
    "forge_refused_token": "{forge} refused the token ({why}): it is wrong, expired or revoked. {needs}",
    "forge_does_not_allow": "{forge} does not allow it with this token: {why}. {needs}",
    "required_scopes": " (it requires {scopes})",
    "forge_sent_no_json": "{forge} answered {path} with something other than JSON",
    "forge_sent_no_list": "{forge} answered {path} with something other than a list",
    "forge_rejects_comment": "{forge} does not accept the comment: {why}",
    "forge_rejects_status": "{forge} does not accept the commit status: {why}",
    "forge_has_no_commit": "{forge} has nothing at {path}, or the token may not set commit statuses: {why}. {needs}",
    "gitlab_has_no_pipeline": "GitLab has no branch or pipeline with this commit in {project}: if the commit comes from a fork, run a merge request pipeline in {project} itself",
    "gitlab_job_has_status_name": "GitLab does not accept the commit status {name}, because the pipeline has a job with the same name: rename the job",
    "listed_but_gone": "{forge} lists our comment, but says it doesn't exist when we change it",
    "from_a_fork": "this pull request comes from a fork, so its job is read-only. {advice}",
    "comment_not_changed": "the screenshots are deleted, but the comment could not be changed: {why}. Run the same command again to finish",
    "image_not_found": "not found in this project",
    "delete_retried": "could not be deleted now: the service retries within the hour",
    "deleted_count": "Deleted {count} of {screenshots}.",
    "invalid_image_id": "an image id is 32 hexadecimal characters: use the id of its upload",
    "template_too_long": "the template {file} is longer than {limit} bytes, the most a comment can have",
    "template_not_text": "the template {file} is not UTF-8 text",
    "template_unknown_placeholder": "the template {file} has an unknown placeholder {placeholder}: use one of {known}",
    "template_without_screenshots": "the template {file} has no placeholder for the screenshots: add {screenshots} or {entries}",
    "invalid_viewport": "invalid viewport {given}: use <width>x<height>, such as 1280x800",
    "invalid_theme": "invalid theme {given}: use light or dark",
    "name_for_one": "{--name} is for one screenshot, but {count} files were found",
    "same_shot": "has the same name and viewport as {other}: rename one",
    "same_themed_shot": "has the same name, viewport and theme as {other}: rename one",
    "no_pixel_size": "has no size in pixels: the file may be damaged",
    "viewport_out_of_range": "has the viewport {viewport}: use {--viewport}, with sides of 1 to 99999",
    "other_format": "is a {format}, despite its extension",
    "cut_off": "the file is cut off (damaged {format}); uploading it anyway. Take the screenshot again",
    "no_such_path": "no such file or folder",
    "cannot_search": "cannot search the folder: {why}",
    "not_in_base": "is not in {folder}: {--base} must be a folder that contains it",
    "no_name": "has no name, only a viewport: use {--name}",
    "name_too_long": "has a name of {count} characters, more than {limit}: shorten it with {--base}",
    "name_not_text": "has a name that is not UTF-8: rename it, or use {--name}",
    "not_a_file": "is not a file",
    "cannot_read": "cannot read: {why}",
    "empty_file": "is empty",
    "not_an_image": "is not a PNG, JPEG or WebP image",
    "wrong_token": "{url} refused the token: it is wrong or revoked, or belongs to another service",
    "proxy_refused_size": "a proxy in front of {url} refused it for its size (413): raise the proxy's limit, such as client_max_body_size in nginx",
    "is_this_prshots": "{answered}: is this the address of a prshots service?",
    "redirects": "{url} redirects to {target}: set {--url} to that address",
    "redirects_to_sign_in": "{url} redirects to {target}: a sign-in proxy seems to be in front of it. Let requests to /v1/ pass without a sign-in, or set {--url} to an address that needs none",
    "image_address": "{url} is the image address of a prshots service{advice}",
    "use_service_address": ": set {--url} to the address of its API or its dashboard",
    "invalid_token": "{--token} is not an upload token: use msr_ and 64 hexadecimal characters; got {count} characters",
    "no_id_token": "{host} answered {status} and gave this job no ID token",
    "other_project": "{url} answered for the project {given}, not for {project}, so nothing is uploaded: set {--project} to organization/name or its id",
    "no_pull_request_in_event": "the event names no pull request for commit {commit}",
    "set_pull_request": "Set the pull request: {--pr}",
    "head_of_several": "{missing}, and it is the head of several: {numbers}. {advice}",
    "head_of_none": "{missing}, and no open pull request has it as its head. {advice}",
    "no_head_in_event": "the event does not name the head of pull request {number}",
    "set_commit": "Set the commit: {--commit}",
    "head_not_reported": "{missing}, and the forge doesn't report it. {advice}",
    "cannot_ask_forge": "{missing}, and the forge cannot be asked: {why}. {advice}",
    "no_token_over_http": "{address} gets no forge token, because http isn't encrypted: set {--forge-url} to an https address",
    "no_token_for_guess": "{host} gets no forge token, because only the repository's address names it: if you trust it, set {--forge-url} to {api}",
    "limit_of_uploads": "limit of {quota} uploads per minute ({whose})",
    "projects_own_limit": "the project's own limit",
    "limits_the_rate": "{host} limits the rate",
    "asks_to_wait": "{reason} and asks to wait {seconds} s",
    "waiting": "{reason}; waiting {seconds} s",
    "retrying": "{reason}; retrying in {seconds} s, {tried} of {tries}",
    "gave_up": "{reason}; gave up, because waiting would exceed {--timeout}",
    "answered": "{who} answered {status}",
    "answered_why": "{who} answered {status}: {why}",
    "quota_reached": "{who} answered 507: storage quota reached. Close pull requests, shorten the retention, delete images or keep fewer baselines, or ask the operator for a larger quota",
    "after_tries": "{problem} after {tries} tries",
    "cannot_connect": "cannot connect to {host} ({why})",
    "connection_refused": "connection refused",
    "host_not_found": "name not found",
    "timed_out": "timed out",
    "network_unreachable": "network unreachable",
    "reply_too_large": "{host} sent a reply that is compressed or larger than 32 MB: is this the right address?",
    "no_answer": "no answer from {host} (timed out)",
    "lost_connection": "lost the connection to {host}",
    "stopped": "stopped"
  }
};

// src/statements.ts
var EXIT_CODES = CONTRACT.exit_codes;
var isMessage = (name) => name in CONTRACT.messages;
var PLACEHOLDER = /\{((?:--|prshots )?[a-z][a-z _-]*)\}/g;
function message(name, values = {}) {
  return CONTRACT.messages[name].replace(
    PLACEHOLDER,
    (_, key) => /^(--|prshots )/.test(key) ? called(key) : String(values[key])
  );
}
var naming = (name, variable) => variable ? `${reporterOption(name)} (${variable})` : name;
function setNames(names) {
  naming = names;
}
function called(name) {
  const options = CONTRACT.options;
  const { variable = "" } = options[name.slice(2)] ?? {};
  return naming(name, variable);
}
function reporterOption(name) {
  return name === "--pr" ? "prNumber" : name.slice(2).replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}

// src/variables.ts
var PREFIX = "PRSHOTS_";
var KNOWN = CONTRACT.variables;
var SIMILAR = 0.8;
function misspelledVariables(environ) {
  return Object.keys(environ).filter((name) => name.startsWith(PREFIX) && environ[name]).map((name) => name.slice(PREFIX.length)).filter((name) => !KNOWN.includes(name)).sort().flatMap((name) => {
    const meant = nearest(name);
    if (!meant) return [];
    return [message("misspelled_variable", { name: PREFIX + name, meant: PREFIX + meant })];
  });
}
function nearest(name) {
  const swapped = KNOWN.find((known) => sortLetters(known) === sortLetters(name));
  if (swapped) return swapped;
  const [closest] = KNOWN.map((known) => ({ known, ratio: similarity(known, name) })).sort(
    (one, other) => other.ratio - one.ratio
  );
  return closest && closest.ratio >= SIMILAR ? closest.known : void 0;
}
function sortLetters(name) {
  return [...name].sort().join("");
}
function similarity(one, other) {
  return 2 * countMatching(one, other) / (one.length + other.length);
}
function countMatching(one, other) {
  for (let length = Math.min(one.length, other.length); length > 0; length--)
    for (let start = 0; start + length <= one.length; start++) {
      const at = other.indexOf(one.slice(start, start + length));
      if (at < 0) continue;
      const left = countMatching(one.slice(0, start), other.slice(0, at));
      return length + left + countMatching(one.slice(start + length), other.slice(at + length));
    }
  return 0;
}

// src/action/action.ts
import { resolve } from "node:path";

// src/ci/git.ts
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

// src/ci/validate.ts
import { isIPv6 } from "node:net";
var MAX_PR_NUMBER = 2147483647;
var MAX_BRANCH_CHARACTERS = 255;
var MAX_WORDS_CHARACTERS = 300;
var FULL_COMMIT_SHA = /^[0-9a-f]{40}$/;
var NOT_IN_BRANCHES = (
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses these
  /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|\/\.|\.lock(?:\/|$)|[/.]$|^@$/
);
var COMMIT_SHA = /^[0-9a-f]{7,40}$/i;
var REPOSITORY = /^(?:[0-9]{1,20}|(?!\.{1,2}\/)[\w.~-]+(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+)$/;
var VISIBLE = /^[!-~]+$/;
var ADDRESS = /^https?:\/\/(?:[^/?#:@[\]]+|\[(?<ipv6>[0-9a-f:.]+)\])(?::(?<port>[0-9]*))?(?:[/?#]|$)/i;
var LARGEST_PORT = 65535;
var MAX_LENGTH = 2e3;
function isOn(environ, name) {
  return !["", "false"].includes((environ[name] ?? "").trim().toLowerCase());
}
function first(environ, ...names) {
  return names.map((name) => environ[name]?.trim()).find(Boolean) ?? "";
}
function prNumber(given) {
  const isText = typeof given === "string" && /^[0-9]{1,10}$/.test(given.trim());
  const number = isText ? Number(given) : given;
  if (typeof number !== "number" || !Number.isInteger(number)) return void 0;
  return number >= 1 && number <= MAX_PR_NUMBER ? number : void 0;
}
function commit(...candidates) {
  const texts = candidates.map((given) => typeof given === "string" ? given.trim() : "");
  return texts.find((text2) => COMMIT_SHA.test(text2))?.toLowerCase() ?? "";
}
function fullCommit(given) {
  const found = commit(given);
  return FULL_COMMIT_SHA.test(found) ? found : "";
}
function branch(given) {
  if (typeof given !== "string" || !isUnicode(given)) return "";
  const name = given.trim().replace(/^refs\/heads\//, "");
  const length = Array.from(name).length;
  const isOne = length > 0 && length <= MAX_BRANCH_CHARACTERS && !NOT_IN_BRANCHES.test(name);
  return isOne && !name.startsWith("refs/") ? name : "";
}
function words(given) {
  if (typeof given !== "string" || !isUnicode(given)) return "";
  const line = given.replaceAll("\0", " ").trim().split(/\s+/).join(" ");
  return Array.from(line).slice(0, MAX_WORDS_CHARACTERS).join("");
}
function isUnicode(text2) {
  return !new RegExp("\\p{Surrogate}", "u").test(text2);
}
function repository(given) {
  if (typeof given !== "string" || given.length > MAX_LENGTH) return "";
  return REPOSITORY.test(given.trim()) ? given.trim() : "";
}
function token(given) {
  return VISIBLE.test(given.trim()) ? given.trim() : "";
}
function address(given) {
  if (typeof given !== "string" || given.length > MAX_LENGTH || !VISIBLE.test(given.trim())) return "";
  const found = ADDRESS.exec(given.trim());
  if (!found) return "";
  const { ipv6, port } = found.groups ?? {};
  const isHost = !ipv6 || isIPv6(ipv6);
  const isPort = !port || Number(port) > 0 && Number(port) <= LARGEST_PORT;
  return isHost && isPort ? given.trim() : "";
}
function root(given) {
  const found = address(given);
  return /[?#]/.test(found) ? "" : found.replace(/\/+$/, "");
}

// src/ci/git.ts
var LOCAL_SECONDS = 30;
var FETCH_SECONDS = 120;
var TELL_AFTER_SECONDS = 1;
var LOCK_PAUSES = [0.2, 0.5, 1, 2, 4];
var MAX_REASON_CHARACTERS = 300;
var LOCKED = /\.lock'|shallow file has changed|another git process/i;
var FIRST_WORDS = /^(?:fatal|error): /;
var SAFE = [
  "safe.bareRepository=explicit",
  // ordinary files of a checkout can be a bare repository
  "core.alternateRefsCommand=true",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "fetch.recurseSubmodules=false",
  "fetch.prune=false",
  "fetch.pruneTags=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "log.showSignature=false"
].flatMap((setting) => ["-c", setting]);
var PROGRAMS = {
  "core.sshcommand": "ssh",
  "core.askpass": "",
  "credential.helper": "",
  "hook.command": "true",
  "http.savecookies": "false"
  // writes to any file
};
var VARIABLES2 = {
  GIT_NO_LAZY_FETCH: "1",
  // would run the remote's `uploadpack`
  GIT_PROXY_COMMAND: "",
  // overrides core.gitProxy
  GIT_TERMINAL_PROMPT: "0",
  GCM_INTERACTIVE: "never",
  SSH_ASKPASS_REQUIRE: "never",
  LC_ALL: "C"
};
var deadline = Number.POSITIVE_INFINITY;
function limitGit(until) {
  deadline = until;
}
function git(...words2) {
  return run(words2, LOCAL_SECONDS);
}
async function fetchFrom(refspec, depth, say, what) {
  const limit = depth ? [`--depth=${depth}`] : [];
  const command = ["fetch", "--no-tags", "--no-recurse-submodules", ...limit];
  const tell = () => say(message("fetching_history", { what }));
  for (let tries = 0; ; tries++) {
    const ran = await askRemote(command, refspec, tell);
    const seconds = LOCK_PAUSES[tries];
    if (seconds === void 0 || !LOCKED.test(ran.error)) return ran;
    await pause(seconds * 1e3);
  }
}
function remoteRefs(pattern) {
  return askRemote(["ls-remote"], pattern);
}
async function askRemote(command, ref, onWait) {
  const remote = await remoteName();
  if (!remote) return { output: "", error: message("no_remote") };
  const { programs, error } = await ownPrograms();
  if (error) return { output: "", error };
  const options = ["--quiet", "--upload-pack=git-upload-pack", "--end-of-options", remote, ref];
  return run([...programs, ...command, ...options], FETCH_SECONDS, onWait);
}
async function ownPrograms() {
  const { output, error } = await git("config", "--list", "--show-scope", "-z");
  const [ofRepository, ofUser] = [["credential.helper="], []];
  for (const [, scope = "", key = "", value = ""] of output.matchAll(/(\w+)\0([^\n\0]+)(?:\n([^\0]*))?\0/g)) {
    const harmless = PROGRAMS[key.replace(/^([^.]+)\..*\./s, "$1.")];
    if (harmless === void 0) continue;
    if (key.includes("=")) return { programs: [], error: message("git_setting_not_replaced", { key }) };
    if (/^(local|worktree)$/.test(scope)) ofRepository.push(`${key}=${harmless}`);
    else ofUser.push(`${key}=${value}`);
  }
  const settings = ofRepository.length > 1 ? [...ofRepository, ...ofUser] : [];
  return { programs: settings.flatMap((setting) => ["-c", setting]), error };
}
function run(words2, usual, onWait = () => {
}) {
  const seconds = Math.max(Math.min(usual, Math.round(deadline - Date.now() / 1e3)), 1);
  return new Promise((resolve2) => {
    const child = spawn(gitProgram(), ["--no-pager", ...SAFE, ...words2], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...VARIABLES2 },
      detached: process.platform !== "win32"
      // without a terminal, ssh does not ask anything either
    });
    const [output, said] = [textOf(child.stdout), textOf(child.stderr)];
    const end = (ran) => {
      clearTimeout(told);
      clearTimeout(late);
      resolve2(ran);
    };
    const told = setTimeout(onWait, TELL_AFTER_SECONDS * 1e3);
    const late = setTimeout(() => {
      kill(child);
      end({ output: "", error: message("git_too_slow", { seconds }) });
    }, seconds * 1e3);
    child.on(
      "error",
      (error) => end({ output: "", error: message("git_does_not_run", { why: error.code ?? error.message }) })
    );
    child.on(
      "close",
      (code) => end(code === 0 ? { output: output(), error: "" } : { output: "", error: reasonIn(said()) })
    );
  });
}
function gitProgram(environ = process.env, platform = process.platform) {
  if (platform !== "win32") return "git";
  const folders = (environ.PATH ?? "").split(";").filter(path.win32.isAbsolute);
  const files = folders.map((folder) => path.join(folder, "git.exe"));
  return files.find((file) => existsSync(file)) ?? "C:\\no\\git.exe";
}
function textOf(stream) {
  const chunks = [];
  stream.on("data", (chunk2) => chunks.push(chunk2));
  return () => Buffer.concat(chunks).toString("utf8");
}
function kill(child) {
  try {
    if (process.platform === "win32" || child.pid === void 0) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
  }
}
function reasonIn(said) {
  const lines = said.split("\n").filter((line) => line.trim());
  const reason = lines.find((line) => FIRST_WORDS.test(line)) ?? lines[0] ?? "";
  const shown = reason.replace(FIRST_WORDS, "").replace(/:\/\/[^\s/]*@/g, "://[hidden]@");
  return shown.trim().replace(/\.+$/, "").slice(0, MAX_REASON_CHARACTERS) || message("git_failed");
}
async function commitAt(revision) {
  const commit2 = `${revision}^{commit}`;
  const found = await git("rev-parse", "--verify", "--quiet", "--end-of-options", commit2);
  return fullCommit(found.output);
}
async function remoteName() {
  const names = (await git("remote")).output.split(/\s+/).filter(Boolean);
  if (names.includes("origin")) return "origin";
  const [only = ""] = names;
  return names.length === 1 && !only.startsWith("-") ? only : "";
}
async function isShallow() {
  return (await git("rev-parse", "--is-shallow-repository")).output.trim() === "true";
}

// src/ci/checkout.ts
var USUAL_BRANCHES = ["main", "master"];
var OF_ORIGIN = "refs/remotes/origin/";
function headCommit() {
  return commitAt("HEAD");
}
async function fullCommit2(sha) {
  return fullCommit(sha) || (commit(sha) ? await commitAt(sha) : "");
}
async function defaultBranch(job) {
  if (job.defaultBranch) return job.defaultBranch;
  const head = (await git("symbolic-ref", "--quiet", `${OF_ORIGIN}HEAD`)).output.trim();
  const found = head.startsWith(OF_ORIGIN) ? branch(head.slice(OF_ORIGIN.length)) : "";
  if (found) return found;
  if (USUAL_BRANCHES.includes(job.branch)) return job.branch;
  for (const name of USUAL_BRANCHES)
    if (await commitAt(OF_ORIGIN + name) || await commitAt(`refs/heads/${name}`)) return name;
  return "main";
}
async function branchForBaselines(job) {
  if (job.ci || job.branch) return job.branch;
  const here = branch((await git("symbolic-ref", "--quiet", "HEAD")).output);
  return here === await defaultBranch(job) ? here : "";
}
async function buildsBaselines(job, branch2) {
  return job.branch !== "" && !job.fromFork && job.branch === (branch2 || await defaultBranch(job));
}

// src/ci/actions_event.ts
import { readFileSync, statSync } from "node:fs";
var MAX_BYTES = 32 * 1024 * 1024;
var NAMES_THE_BASE = /* @__PURE__ */ new Set([
  "check_run",
  "check_suite",
  "issue_comment",
  "pull_request_target",
  "workflow_run"
]);
var OF_A_BRANCH = /* @__PURE__ */ new Set(["push", "schedule", "workflow_dispatch"]);
var QUEUE_REF = /^refs\/heads\/gh-readonly-queue\/.+\/pr-([1-9][0-9]*)-[0-9a-f]{40}$/;
function eventOf(environ) {
  const said = read(first(environ, "GITHUB_EVENT_PATH"));
  const defaultBranch2 = branch(part(said, "repository")?.default_branch);
  return { commitSha: "", ...saidIn(said, environ), defaultBranch: defaultBranch2 };
}
function saidIn(said, environ) {
  const event = first(environ, "GITHUB_EVENT_NAME");
  const ref = first(environ, "GITHUB_REF");
  const built = NAMES_THE_BASE.has(event) ? "" : commit(environ.GITHUB_SHA);
  const pull = part(said, "pull_request");
  if (pull) return ofPullRequest(pull, ref, built, isObject(said) && said.action === "closed");
  const group = part(said, "merge_group");
  if (group) return ofMergeGroup(group, ref, built);
  const deployment = part(said, "deployment");
  if (deployment) return ofDeployment(said, deployment, ref, built);
  const run3 = part(said, "workflow_run") ?? part(said, "check_suite") ?? part(said, "check_run");
  if (run3) return ofRun(said, run3);
  const issue = part(said, "issue");
  if (part(issue, "pull_request")) {
    const prNumber2 = prNumber(issue?.number);
    const lookup = prNumber2 === void 0 ? void 0 : "head";
    return { prNumber: prNumber2, alreadyClosed: issue?.state === "closed", lookup };
  }
  const isPush = OF_A_BRANCH.has(event) || event === "workflow_call" && isObject(said) && "after" in said;
  return {
    prNumber: numberIn(ref),
    commitSha: built,
    branch: isPush && ref.startsWith("refs/heads/") ? branch(ref) : "",
    targetBranch: branch(environ.GITHUB_BASE_REF),
    sourceBranch: branch(environ.GITHUB_HEAD_REF)
  };
}
function ofPullRequest(pull, ref, built, closed) {
  const [head, base] = [part(pull, "head"), part(pull, "base")];
  return {
    prNumber: prNumber(pull.number) ?? numberIn(ref),
    commitSha: commit(head?.sha, built),
    closed,
    alreadyClosed: !closed && pull.state === "closed",
    fromFork: isFork(part(head, "repo"), part(base, "repo")),
    targetBranch: branch(base?.ref),
    sourceBranch: branch(head?.ref),
    title: words(pull.title),
    author: words(part(pull, "user")?.login),
    mergedAs: closed && pull.merged === true ? fullCommit(pull.merge_commit_sha) : ""
  };
}
function ofMergeGroup(group, ref, built) {
  const prNumber2 = numberIn(ref);
  return {
    prNumber: prNumber2,
    commitSha: commit(group.head_sha, built),
    targetBranch: branch(group.base_ref),
    baseSha: fullCommit(group.base_sha),
    inQueue: prNumber2 !== void 0
  };
}
function ofRun(said, run3) {
  const commitSha = commit(run3.head_sha);
  const own = ownPullRequest(said, run3, commitSha);
  const { prNumber: prNumber2 } = own;
  let lookup;
  if (prNumber2 === void 0 && commitSha) {
    const startedBy = run3.event ?? void 0;
    const isListed = Array.isArray(run3.pull_requests) && run3.pull_requests.length > 0;
    if (typeof startedBy === "string" && startedBy.startsWith("pull_request")) lookup = "pull_request";
    else if (startedBy === void 0 || isListed) lookup = "any_pull_request";
  }
  const isOfFork = isFork(part(run3, "head_repository"), part(said, "repository"));
  return {
    ...own,
    commitSha,
    fromFork: "head_repository" in run3 && isOfFork,
    lookup,
    branch: run3.event === "push" && !isOfFork ? branch(run3.head_branch) : "",
    hasFailed: (run3.conclusion ?? "success") !== "success"
  };
}
function ofDeployment(said, deployment, ref, built) {
  const commitSha = commit(deployment.sha, built);
  const named = typeof deployment.ref === "string" ? deployment.ref : "";
  const run3 = part(said, "workflow_run");
  const isOfRun = run3 !== void 0 && commit(run3.head_sha) === commitSha;
  const inRef = numberIn(ref) ?? numberIn(named);
  const own = inRef === void 0 && isOfRun ? ownPullRequest(said, run3, commitSha) : { prNumber: inRef };
  const lookup = own.prNumber === void 0 && commitSha ? "any_pull_request" : void 0;
  return { ...own, commitSha, lookup };
}
function ownPullRequest(said, run3, sha) {
  const own = part(said, "repository")?.id ?? void 0;
  const listed = Array.isArray(run3.pull_requests) ? run3.pull_requests : [];
  const found = listed.filter(
    (pull2) => own !== void 0 && part(part(pull2, "base"), "repo")?.id === own && commit(part(pull2, "head")?.sha) === sha
  );
  const pull = found.length === 1 && sha ? found[0] : {};
  return {
    prNumber: prNumber(pull.number),
    targetBranch: branch(part(pull, "base")?.ref)
  };
}
function numberIn(ref) {
  const queued = QUEUE_REF.exec(ref)?.[1];
  if (queued) return prNumber(queued);
  return ref.startsWith("refs/pull/") ? prNumber(ref.split("/")[2]) : void 0;
}
function read(path4) {
  try {
    if (!path4) return void 0;
    const found = statSync(path4);
    if (!found.isFile() || found.size > MAX_BYTES) return void 0;
    return JSON.parse(readFileSync(path4, "utf8").replace(/^\ufeff/, ""));
  } catch {
    return void 0;
  }
}
function part(of, name) {
  const found = isObject(of) ? of[name] : void 0;
  return isObject(found) && Object.keys(found).length > 0 ? found : void 0;
}
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isFork(head, base) {
  return (head?.full_name ?? null) !== (base?.full_name ?? null);
}

// src/ci/forge_addresses.ts
import { BlockList, isIP } from "node:net";
var NOWHERE = { kind: void 0, url: "", repository: "", prNumber: void 0 };
var PUBLIC = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  gitea: "",
  bitbucket: "https://bitbucket.org"
};
var TOKENS = {
  github: ["GITHUB_TOKEN", "GH_TOKEN"],
  gitlab: ["GITLAB_TOKEN"],
  gitea: ["GITEA_TOKEN", "FORGEJO_TOKEN"],
  bitbucket: ["BITBUCKET_TOKEN"]
};
var EVERYONES = /* @__PURE__ */ new Map([
  ["github.com", "github"],
  ["gitlab.com", "gitlab"],
  ["codeberg.org", "gitea"],
  ["gitea.com", "gitea"],
  ["bitbucket.org", "bitbucket"]
]);
var NOT_GLOBAL = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16]
])
  NOT_GLOBAL.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10]
])
  NOT_GLOBAL.addSubnet(network, bits, "ipv6");
var HOSTS = [
  [/github|\.ghe\.com$/, "github"],
  [/gitlab/, "gitlab"],
  [/gitea|forgejo|^codeberg\.org$/, "gitea"],
  [/^bitbucket\.org$/, "bitbucket"]
];
var PULL_REQUESTS = [
  [/^(.+)\/-\/merge_requests\/([0-9]+)/, "gitlab"],
  [/^([^/]+\/[^/]+)\/pull\/([0-9]+)/, "github"],
  [/^([^/]+\/[^/]+)\/pulls\/([0-9]+)/, "gitea"],
  [/^([^/]+\/[^/]+)\/pull-requests\/([0-9]+)/, "bitbucket"]
];
var PAGE = /^(?<scheme>https?):\/\/(?<host>[^/?#]+)(?<path>[^?#]*)/i;
var REMOTES = [
  /^(?<scheme>https?|ssh|git):\/\/(?:[^/]*@)?(?<host>[\w.-]+)(?<port>:[0-9]+)?\/+(?<path>.+?)\/*$/,
  /^(?:[^/]*@)?(?<host>[\w.-]+):(?!\/\/)\/?(?<path>.+?)\/*$/
];
function repositoryOfPullRequest(address2) {
  const { scheme = "", host = "", path: path4 = "" } = PAGE.exec(address(address2))?.groups ?? {};
  const trimmed = path4.replace(/^\/+|\/+$/g, "");
  for (const [pattern, kind] of PULL_REQUESTS) {
    const found = pattern.exec(trimmed);
    if (!found) continue;
    if (kind === "bitbucket" && kindOfHost(host) !== kind) return NOWHERE;
    const url = `${scheme.toLowerCase()}://${host}`;
    return {
      kind,
      url,
      repository: repository(found[1]),
      prNumber: prNumber(found[2]),
      isGuessed: true
    };
  }
  return NOWHERE;
}
var PAGES = {
  github: "pull",
  gitlab: "-/merge_requests",
  gitea: "pulls",
  bitbucket: "pull-requests"
};
function pullRequestPage(kind, repositoryUrl, prNumber2) {
  return kind && repositoryUrl && prNumber2 !== void 0 ? `${repositoryUrl}/${PAGES[kind]}/${prNumber2}` : "";
}
function repositoryOfRemote(remote) {
  if (remote.length > MAX_LENGTH) return NOWHERE;
  const found = REMOTES.map((pattern) => pattern.exec(remote.trim())).find(Boolean)?.groups;
  const { scheme = "", host = "", port = "", path: path4 = "" } = found ?? {};
  const repository2 = repository(path4.replace(/\.git$/, ""));
  if (!repository2.includes("/")) return NOWHERE;
  const url = scheme.startsWith("http") ? `${scheme}://${host}${port}` : `https://${host}`;
  return { kind: kindOfHost(host), url, repository: repository2, prNumber: void 0, isGuessed: true };
}
function kindOfHost(host) {
  return HOSTS.find(([pattern]) => pattern.test(host.toLowerCase()))?.[1];
}
function apiRoot(kind, given = "") {
  const url = given || (kind ? PUBLIC[kind] : "");
  if (!url) return "";
  switch (kind) {
    case "github": {
      const [scheme, host = ""] = url.split("://", 2);
      const isHosted = /^github\.com$|\.ghe\.com$/i.test(host);
      return isHosted ? `${scheme}://api.${host}` : `${url}/api/v3`;
    }
    case "gitlab":
      return `${url}/api/v4`;
    case "gitea":
      return `${url}/api/v1`;
    case "bitbucket":
      return "https://api.bitbucket.org/2.0";
    default:
      return "";
  }
}
function kindOfApi(api) {
  const { host = "", path: path4 = "" } = PAGE.exec(api)?.groups ?? {};
  const version = /\/api\/(v[134])$/.exec(path4)?.[1];
  const byPath = { v3: "github", v4: "gitlab", v1: "gitea" }[version];
  return byPath ?? kindOfHost(host.replace(/^api\./, ""));
}
function kindOfPublicApi(api) {
  const host = URL.canParse(api) ? new URL(api).host.replace(/^api\./, "") : "";
  return host.endsWith(".ghe.com") ? "github" : EVERYONES.get(host);
}
function whyNoToken({ forge, forgeApi: api, isForgeGuessed }) {
  const { protocol, host, origin } = new URL(api);
  if (protocol !== "https:" && !isLoopback(api)) return message("no_token_over_http", { address: origin });
  if (isForgeGuessed && kindOfPublicApi(api) !== forge) return message("no_token_for_guess", { host, api });
  return "";
}
function isLoopback(address2) {
  return /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostOf(address2));
}
function isPublic(address2) {
  const host = hostOf(address2).replace(/\.$/, "");
  if (isIP(host.replace(/^\[|\]$/g, ""))) return !NOT_GLOBAL.check(...addressAndFamily(host));
  return host.includes(".") && !/\.(local|internal|lan|localhost)$/.test(host);
}
function hostOf(address2) {
  return URL.canParse(address2) ? new URL(address2).hostname : "";
}
function addressAndFamily(host) {
  const address2 = host.replace(/^\[|\]$/g, "");
  return [address2, isIP(address2) === 6 ? "ipv6" : "ipv4"];
}
function forgeToken(kind, environ) {
  let names = kind ? TOKENS[kind] : [];
  if (runsOnGitea(environ)) {
    names = names.filter((name) => name !== "GITHUB_TOKEN");
    if (kind === "gitea") names.push("GITHUB_TOKEN");
  }
  return token(first(environ, "PRSHOTS_FORGE_TOKEN", ...names));
}
function runsOnGitea(environ) {
  if (isOn(environ, "GITEA_ACTIONS") || isOn(environ, "FORGEJO_ACTIONS")) return true;
  return isOn(environ, "GITHUB_ACTIONS") && root(environ.GITHUB_API_URL).endsWith("/api/v1");
}

// src/ci/job.ts
var FORGES = CONTRACT.options.forge.choices;
var NO_JOB = {
  ci: "",
  prNumber: void 0,
  commitSha: "",
  closed: false,
  alreadyClosed: false,
  fromFork: false,
  forge: void 0,
  forgeUrl: "",
  forgeApi: "",
  repository: "",
  forgeToken: "",
  runUrl: "",
  lookup: void 0,
  branch: "",
  defaultBranch: "",
  targetBranch: "",
  sourceBranch: "",
  title: "",
  author: "",
  repositoryUrl: "",
  baseSha: "",
  mergedAs: "",
  isParallel: false,
  isForgeGuessed: false,
  hasFailed: false,
  inQueue: false
};
function normalizeJob(job) {
  if (job.prNumber !== void 0 || job.lookup) return { ...job, branch: "" };
  return { ...job, targetBranch: "", sourceBranch: "", title: "", author: "", baseSha: "", mergedAs: "" };
}

// src/ci/detection.ts
function detectJob(environ) {
  return normalizeJob(CIS.find(([runs]) => runs(environ))?.[1](environ) ?? NO_JOB);
}
function jobAt(ci, environ, place, { api, ...said }) {
  const { kind, url, repository: repository2, prNumber: prNumber2, isGuessed = false } = place;
  const isNamed = url !== "" && repository2.includes("/");
  return {
    ...NO_JOB,
    repositoryUrl: isNamed ? `${url}/${repository2}` : "",
    ...said,
    ci,
    prNumber: prNumber2,
    closed: Boolean(said.closed) && prNumber2 !== void 0,
    alreadyClosed: Boolean(said.alreadyClosed) && prNumber2 !== void 0,
    fromFork: Boolean(said.fromFork) && prNumber2 !== void 0,
    forge: kind,
    forgeUrl: url,
    forgeApi: root(api) || (url ? apiRoot(kind, url) : ""),
    repository: repository2,
    forgeToken: forgeToken(kind, environ),
    isForgeGuessed: isGuessed,
    runUrl: address(said.runUrl)
  };
}
function branchIn(environ, ...names) {
  return branch(first(environ, ...names));
}
function isSeveral(count) {
  return (prNumber(count) ?? 1) > 1;
}
function actions(environ) {
  const onGitea = runsOnGitea(environ);
  const { prNumber: prNumber2, ...said } = eventOf(environ);
  const place = {
    kind: onGitea ? "gitea" : "github",
    url: root(environ.GITHUB_SERVER_URL),
    repository: repository(environ.GITHUB_REPOSITORY),
    prNumber: prNumber2
  };
  const { url, repository: repository2 } = place;
  const run3 = first(environ, onGitea ? "GITHUB_RUN_NUMBER" : "GITHUB_RUN_ID");
  const runUrl = url && repository2 && run3 ? `${url}/${repository2}/actions/runs/${run3}` : "";
  const api = first(environ, "GITHUB_API_URL");
  return jobAt(onGitea ? "Gitea Actions" : "GitHub Actions", environ, place, { api, runUrl, ...said });
}
function gitlab(environ) {
  const own = repository(environ.CI_PROJECT_ID);
  let target = repository(environ.CI_MERGE_REQUEST_PROJECT_ID);
  let prNumber2 = prNumber(environ.CI_MERGE_REQUEST_IID);
  const source = first(environ, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID");
  const [branch2, defaultBranch2] = [
    branchIn(environ, "CI_COMMIT_BRANCH"),
    branchIn(environ, "CI_DEFAULT_BRANCH")
  ];
  let fromFork = Boolean(target && source) && source !== target;
  if (prNumber2 === void 0) {
    const [open3 = ""] = first(environ, "CI_OPEN_MERGE_REQUESTS").split(",");
    const path4 = open3.slice(0, Math.max(open3.lastIndexOf("!"), 0));
    fromFork = path4 !== "" && path4 !== first(environ, "CI_PROJECT_PATH");
    const isDefault = branch2 !== "" && branch2 === defaultBranch2 && !fromFork;
    prNumber2 = isDefault ? void 0 : prNumber(open3.slice(open3.lastIndexOf("!") + 1));
    target = fromFork ? repository(path4) : "";
  }
  const inQueue = first(environ, "CI_MERGE_REQUEST_EVENT_TYPE") === "merge_train";
  const bases = inQueue ? ["CI_MERGE_REQUEST_TARGET_BRANCH_SHA"] : [];
  const repository2 = target || own;
  const url = root(environ.CI_SERVER_URL);
  return jobAt(
    "GitLab CI",
    environ,
    { kind: "gitlab", url, repository: repository2, prNumber: prNumber2 },
    {
      api: first(environ, "CI_API_V4_URL"),
      // Only in a merged results pipeline, where CI_COMMIT_SHA is the merge, is the first one set.
      commitSha: commit(environ.CI_MERGE_REQUEST_SOURCE_BRANCH_SHA, environ.CI_COMMIT_SHA),
      runUrl: first(environ, "CI_PIPELINE_URL"),
      fromFork,
      repositoryUrl: target.includes("/") ? url && `${url}/${target}` : root(first(environ, "CI_MERGE_REQUEST_PROJECT_URL", "CI_PROJECT_URL")),
      branch: branch2,
      defaultBranch: defaultBranch2,
      targetBranch: branchIn(environ, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"),
      sourceBranch: branchIn(environ, "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") || branch2,
      title: words(environ.CI_MERGE_REQUEST_TITLE),
      baseSha: fullCommit(first(environ, ...bases, "CI_MERGE_REQUEST_DIFF_BASE_SHA")),
      isParallel: isSeveral(environ.CI_NODE_TOTAL),
      inQueue
    }
  );
}
function bitbucket(environ) {
  const branch2 = branchIn(environ, "BITBUCKET_BRANCH");
  const place = {
    kind: "bitbucket",
    url: "https://bitbucket.org",
    repository: repository(environ.BITBUCKET_REPO_FULL_NAME),
    prNumber: prNumber(environ.BITBUCKET_PR_ID)
  };
  return jobAt("Bitbucket Pipelines", environ, place, {
    commitSha: commit(environ.BITBUCKET_COMMIT),
    runUrl: place.repository ? `${place.url}/${place.repository}/pipelines/results/${first(environ, "BITBUCKET_BUILD_NUMBER")}` : "",
    branch: branch2,
    sourceBranch: branch2,
    targetBranch: branchIn(environ, "BITBUCKET_PR_DESTINATION_BRANCH")
  });
}
function circleci(environ) {
  const pages = first(environ, "CIRCLE_PULL_REQUEST", "CIRCLE_PULL_REQUESTS", "CI_PULL_REQUEST");
  const forksNumber = prNumber(environ.CIRCLE_PR_NUMBER);
  const place = placeOf(pages.split(",")[0] ?? "", first(environ, "CIRCLE_REPOSITORY_URL"), forksNumber);
  const branch2 = branchIn(environ, "CIRCLE_BRANCH");
  const fromFork = forksNumber !== void 0;
  return jobAt("CircleCI", environ, place, {
    commitSha: commit(environ.CIRCLE_SHA1),
    runUrl: first(environ, "CIRCLE_BUILD_URL"),
    fromFork,
    branch: branch2,
    sourceBranch: fromFork ? "" : branch2,
    isParallel: isSeveral(environ.CIRCLE_NODE_TOTAL)
  });
}
function buildkite(environ) {
  const place = placeOf(
    "",
    first(environ, "BUILDKITE_REPO"),
    prNumber(environ.BUILDKITE_PULL_REQUEST),
    // "false" without one
    first(environ, "BUILDKITE_PIPELINE_PROVIDER")
  );
  const head = repositoryOfRemote(first(environ, "BUILDKITE_PULL_REQUEST_REPO")).repository;
  const branch2 = branchIn(environ, "BUILDKITE_BRANCH");
  const ofPullRequest2 = !["", "false"].includes(first(environ, "BUILDKITE_PULL_REQUEST"));
  return jobAt("Buildkite", environ, place, {
    commitSha: commit(environ.BUILDKITE_COMMIT),
    // may be "HEAD"
    runUrl: first(environ, "BUILDKITE_BUILD_URL"),
    fromFork: head !== "" && head.toLowerCase() !== place.repository.toLowerCase(),
    branch: ofPullRequest2 || first(environ, "BUILDKITE_TAG") ? "" : branch2,
    sourceBranch: branch2,
    defaultBranch: branchIn(environ, "BUILDKITE_PIPELINE_DEFAULT_BRANCH"),
    targetBranch: branchIn(environ, "BUILDKITE_PULL_REQUEST_BASE_BRANCH"),
    isParallel: isSeveral(environ.BUILDKITE_PARALLEL_JOB_COUNT)
  });
}
function azure(environ) {
  const provider = first(environ, "BUILD_REPOSITORY_PROVIDER").toLowerCase();
  const prNumber2 = prNumber(environ.SYSTEM_PULLREQUEST_PULLREQUESTNUMBER) ?? // With GitHub, PULLREQUESTID is a different number.
  (provider.includes("github") ? numberIn(first(environ, "BUILD_SOURCEBRANCH")) : prNumber(environ.SYSTEM_PULLREQUEST_PULLREQUESTID));
  const place = placeOf("", first(environ, "BUILD_REPOSITORY_URI"), prNumber2, provider);
  const collection = first(environ, "SYSTEM_COLLECTIONURI", "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI");
  const project = encodeURIComponent(first(environ, "SYSTEM_TEAMPROJECT"));
  const build = first(environ, "BUILD_BUILDID");
  return jobAt("Azure Pipelines", environ, place, {
    commitSha: commit(environ.SYSTEM_PULLREQUEST_SOURCECOMMITID, environ.BUILD_SOURCEVERSION),
    runUrl: project && build ? `${collection.replace(/\/+$/, "")}/${project}/_build/results?buildId=${build}` : "",
    fromFork: first(environ, "SYSTEM_PULLREQUEST_ISFORK").toLowerCase() === "true",
    branch: first(environ, "BUILD_SOURCEBRANCH").startsWith("refs/heads/") ? branchIn(environ, "BUILD_SOURCEBRANCH") : "",
    sourceBranch: branchIn(environ, "SYSTEM_PULLREQUEST_SOURCEBRANCH"),
    targetBranch: branchIn(environ, "SYSTEM_PULLREQUEST_TARGETBRANCH")
  });
}
function woodpecker(environ) {
  const place = {
    kind: PROVIDERS.get(first(environ, "CI_FORGE_TYPE").toLowerCase()),
    url: root(environ.CI_FORGE_URL),
    repository: repository(environ.CI_REPO),
    prNumber: prNumber(environ.CI_COMMIT_PULL_REQUEST)
  };
  const event = first(environ, "CI_PIPELINE_EVENT");
  const isOfBranch = ["push", "cron", "manual"].includes(event);
  return jobAt("Woodpecker", environ, place, {
    commitSha: commit(environ.CI_COMMIT_SHA),
    runUrl: first(environ, "CI_PIPELINE_URL"),
    closed: event === "pull_request_closed",
    branch: isOfBranch ? branchIn(environ, "CI_COMMIT_BRANCH") : "",
    defaultBranch: branchIn(environ, "CI_REPO_DEFAULT_BRANCH"),
    sourceBranch: branchIn(environ, "CI_COMMIT_SOURCE_BRANCH"),
    targetBranch: branchIn(environ, "CI_COMMIT_TARGET_BRANCH")
  });
}
function jenkins(environ) {
  const prNumber2 = prNumber(first(environ, "CHANGE_ID", "ghprbPullId"));
  const page = first(environ, "CHANGE_URL", "ghprbPullLink");
  const place = placeOf(page, first(environ, "GIT_URL", "GIT_URL_1"), prNumber2);
  const head = repositoryOfRemote(first(environ, "ghprbAuthorRepoGitUrl")).repository;
  const branch2 = branch(
    first(environ, "BRANCH_NAME") || first(environ, "GIT_BRANCH").replace(/^origin\//, "")
  );
  return jobAt("Jenkins", environ, place, {
    // GIT_COMMIT is a merge if the project builds merges. Only the plugin names the head.
    commitSha: commit(environ.ghprbActualCommit, environ.GIT_COMMIT),
    runUrl: first(environ, "BUILD_URL"),
    fromFork: first(environ, "CHANGE_FORK") !== "" || head !== "" && head !== place.repository,
    branch: first(environ, "TAG_NAME") ? "" : branch2,
    defaultBranch: first(environ, "BRANCH_IS_PRIMARY") === "true" ? branch2 : "",
    targetBranch: branchIn(environ, "CHANGE_TARGET", "ghprbTargetBranch"),
    sourceBranch: branchIn(environ, "CHANGE_BRANCH", "ghprbSourceBranch"),
    title: words(first(environ, "CHANGE_TITLE", "ghprbPullTitle")),
    author: words(first(environ, "CHANGE_AUTHOR", "ghprbPullAuthorLogin"))
  });
}
function placeOf(page, remote, prNumber2, provider = "") {
  const byPage = repositoryOfPullRequest(page);
  const found = byPage.kind ? byPage : repositoryOfRemote(remote);
  const kind = found.kind ?? PROVIDERS.get(provider.toLowerCase());
  return { ...found, kind, prNumber: prNumber2 ?? found.prNumber };
}
var PROVIDERS = /* @__PURE__ */ new Map([
  ["github", "github"],
  ["githubenterprise", "github"],
  ["github_enterprise", "github"],
  ["gitlab", "gitlab"],
  ["gitlab_ee", "gitlab"],
  ["gitea", "gitea"],
  ["forgejo", "gitea"],
  ["bitbucket", "bitbucket"]
]);
var isSet = (name) => (environ) => isOn(environ, name);
var CIS = [
  [runsOnGitea, actions],
  [isSet("GITHUB_ACTIONS"), actions],
  [isSet("GITLAB_CI"), gitlab],
  [isSet("BITBUCKET_BUILD_NUMBER"), bitbucket],
  [isSet("CIRCLECI"), circleci],
  [isSet("BUILDKITE"), buildkite],
  [isSet("TF_BUILD"), azure],
  [(environ) => first(environ, "CI") === "woodpecker", woodpecker],
  [isSet("JENKINS_URL"), jenkins]
];

// src/ci/overrides.ts
function withForge(found, environ, given) {
  const { kind, api = "", repository: repository2 = "", token: token2 = "" } = given;
  const job = { ...atForge(found, environ, kind, api.trim()) };
  if (repository2.trim()) job.repository = checkedRepository(repository2, job.forge);
  if (token2.trim()) {
    job.forgeToken = token(token2);
    if (!job.forgeToken)
      throw new InvalidInputError(
        `${called("--forge-token")} is invalid: a token has no spaces, line breaks or other control characters`
      );
  }
  return job;
}
function atForge(job, environ, givenKind, givenApi) {
  const api = root(givenApi);
  if (givenApi && !api)
    throw new InvalidInputError(
      `${called("--forge-url")} is invalid: set the root of the forge's API, such as https://gitlab.example.com/api/v4, without a user name and password`
    );
  const kind = givenKind ?? (api ? kindOfApi(api) : void 0) ?? job.forge;
  if (api && !kind)
    throw new InvalidInputError(
      `${called("--forge-url")} doesn't say which forge it is: set ${called("--forge")} to ${FORGES.join(", ")}`
    );
  if (!kind || kind === job.forge && !api) return job;
  const moved = kind === job.forge ? job : atOtherForge(job, environ, kind);
  const forgeApi = api || apiRoot(kind, moved.forgeUrl);
  if (!forgeApi)
    throw new InvalidInputError(
      `which ${kind}? Set ${called("--forge-url")} to the root of its API: https://HOST/api/v1`
    );
  return { ...moved, forgeApi, isForgeGuessed: moved.isForgeGuessed && !api };
}
function atOtherForge(job, environ, forge) {
  const isSame2 = job.forge === void 0;
  return {
    ...job,
    forge,
    forgeUrl: isSame2 ? job.forgeUrl : "",
    repository: isSame2 ? job.repository : "",
    forgeToken: forgeToken(forge, environ)
  };
}
function checkedRepository(given, kind) {
  const repository2 = repository(given);
  const isOne = kind === "gitlab" || repository2.split("/").length === 2;
  if (!repository2 || !isOne)
    throw new InvalidInputError(
      `${called("--repository")} is invalid: set owner/name, on GitLab also a project's id; got "${given.slice(0, 100)}"`
    );
  return repository2;
}

// src/image_address.ts
var [API_PORT, IMAGE_PORT] = ["8081", "8082"];
var ANSWERS = {
  404: '{"error":"not found"}',
  405: '{"error":"method not allowed"}'
};
function refuseImageAddress(url, reply) {
  const isDelivery = ANSWERS[reply.status] === reply.text && reply.headers.get("x-content-type-options") === "nosniff" && !reply.headers.has("x-request-id");
  if (isDelivery) throw new ImageAddressError(message("image_address", { url, advice: advice(url) }));
}
function refuseRedirect(url, reply) {
  const location = reply.headers.get("location") ?? "";
  if (reply.status < 300 || reply.status >= 400 || !URL.canParse(location, reply.url)) return;
  const { origin, pathname } = new URL(location, reply.url);
  const route = `/v1/${new URL(reply.url).pathname.split("/v1/").at(-1)}`;
  const isMoved = pathname.endsWith(route);
  const path4 = (isMoved ? pathname.slice(0, -route.length) : pathname).replace(/\/+$/, "");
  const target = `${origin}${path4}`.slice(0, 200);
  throw new WrongAddressError(message(isMoved ? "redirects" : "redirects_to_sign_in", { url, target }));
}
function advice(url) {
  if (new URL(url).port !== IMAGE_PORT) return message("use_service_address");
  const meant = url.replace(`:${IMAGE_PORT}`, `:${API_PORT}`);
  return `; ${message("did_you_mean", { meant })}`;
}

// src/sender.ts
import { setTimeout as pause2 } from "node:timers/promises";

// src/wording.ts
var NOT_PRINTABLE = /[\p{C}\p{Z}]/gu;
var SHORT_ESCAPES = { "	": "\\t", "\n": "\\n", "\r": "\\r" };
var COMMANDS = /^\s*:(?=:)|#(?=#\w*\[)/gm;
var CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/g;
function printable(text2) {
  return breakCommands(
    text2.replace(NOT_PRINTABLE, (character) => character === " " ? " " : escapeCharacter(character))
  );
}
function safeMarkdown(text2) {
  return breakCommands(text2.replace(CONTROLS, ""));
}
function safeJson(text2) {
  return text2.replace(/#(?=#)|[\x7f-\x9f\u2028\u2029]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${code}`;
  });
}
function breakCommands(text2) {
  return text2.replace(COMMANDS, "$&\\");
}
function escapeCharacter(character) {
  const code = character.codePointAt(0) ?? 0;
  const hex = (digits) => code.toString(16).padStart(digits, "0");
  if (code > 65535) return `\\U${hex(8)}`;
  return SHORT_ESCAPES[character] ?? (code > 255 ? `\\u${hex(4)}` : `\\x${hex(2)}`);
}
function quote(given, length = 60) {
  const text2 = printable(Array.from(given).slice(0, length).join("").replaceAll("\\", "\\\\"));
  return text2.includes("'") && !text2.includes('"') ? `"${text2}"` : `'${text2.replaceAll("'", "\\'")}'`;
}
function formatNumber(count) {
  return count.toLocaleString("en-US");
}
function pluralize(count, noun) {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// src/pace.ts
var WINDOW_SECONDS = 60;
var ITEM = /(?:^|,)\s*"(uploads|project)"((?:\s*;\s*[a-z]+=(?:[0-9]+|"[^"]*"|:[^:]*:))*)\s*(?=,|$)/g;
var NUMBER = /;\s*([a-z]+)=([0-9]{1,15})(?=\s*(?:;|$))/g;
function rateLimitOf(headers) {
  const policies = items(headers.get("ratelimit-policy"));
  for (const [policy, { r, t }] of items(headers.get("ratelimit"))) {
    const { q, w } = policies.get(policy) ?? {};
    if (r !== void 0 && t !== void 0 && q !== void 0 && w === WINDOW_SECONDS)
      return { policy, quota: q, remaining: r, seconds: t };
  }
  return void 0;
}
function items(field) {
  const numbersIn = (parameters) => Object.fromEntries([...parameters.matchAll(NUMBER)].map(([, key, value]) => [key, Number(value)]));
  const found = [...(field ?? "").matchAll(ITEM)];
  return new Map(
    found.map(([, name, parameters = ""]) => [name, numbersIn(parameters)])
  );
}
function limitMessage({ policy, quota }) {
  const whose = policy === "project" ? message("projects_own_limit") : "PRSHOTS_UPLOADS_PER_MINUTE";
  return message("limit_of_uploads", { quota: formatNumber(quota), whose });
}
var Pace = class {
  limit;
  #until = 0;
  #onTheirWay = 0;
  #waiting = [];
  /** Return the seconds until the next upload may be sent. Nothing: first another one needs its response. */
  wait(now) {
    if (!this.limit || this.limit.remaining > this.#onTheirWay) return 0;
    return this.#onTheirWay ? void 0 : Math.max(0, this.#until - now);
  }
  /** Wait until another upload has its response. */
  otherResponse() {
    return new Promise((resolve2) => this.#waiting.push(resolve2));
  }
  start() {
    this.#onTheirWay += 1;
  }
  end() {
    this.#onTheirWay -= 1;
    for (const resume of this.#waiting.splice(0)) resume();
  }
  /**
   * Take note of a response's limit. Nothing: the service does not count uploads now.
   *
   * Responses may come out of order. Until more uploads are left, the lowest number holds.
   */
  update(limit, now) {
    const holds = limit && this.limit && limit.remaining > this.limit.remaining && now < this.#until;
    if (holds) return;
    this.limit = limit;
    this.#until = now + (limit?.seconds ?? 0);
  }
};

// src/sender.ts
var TRIES = 5;
var FIRST_PAUSE_SECONDS = 0.5;
var LONGEST_PAUSE_SECONDS = 60;
var LONGEST_LIMIT_SECONDS = 15 * 60;
var LIMITS = 60;
var TIMEOUT_SECONDS = 60;
var MAX_REPLY_BYTES = 32 * 1024 * 1024;
var SAID_FROM_SECONDS = 1;
var TEMPORARY = /* @__PURE__ */ new Set([408, 500, 502, 503, 504, 507]);
var SECONDARY_LIMIT = /secondary rate limit|abuse detection/i;
var FIRST_OF_A_PROXY = 520;
var LAST_OF_A_PROXY = 530;
var SYSTEM_CLOCK = {
  now: () => Date.now() / 1e3,
  pause: (seconds, signal) => pause2(seconds * 1e3, void 0, { signal })
};
var Sender = class {
  constructor(stopped, tries = TRIES, say = () => {
  }, clock = SYSTEM_CLOCK, deadline2 = Number.POSITIVE_INFINITY) {
    this.stopped = stopped;
    this.tries = tries;
    this.say = say;
    this.clock = clock;
    this.deadline = deadline2;
  }
  stopped;
  tries;
  say;
  clock;
  deadline;
  #limitedUntil = 0;
  #pace = new Pace();
  #told = /* @__PURE__ */ new Map();
  get secondsLeft() {
    return this.deadline - this.clock.now();
  }
  /**
   * Return the response, with its body. A temporary error is returned only after the last try. `request` makes the
   * request again for each try. Throws UnreachableError, RateLimitedError, CallError.
   */
  async send(url, request, options = {}) {
    const { tries = this.tries, isUpload = false } = options;
    let tried = 0;
    let limits = 0;
    for (; ; ) {
      await this.#waitForTheLimit();
      const reply = await (isUpload ? this.#sendPaced(url, request) : this.#sendOnce(url, request()));
      if (!(reply instanceof PrshotsError)) {
        const asked = limitOf(reply, this.clock.now());
        if (asked !== void 0) {
          limits += 1;
          this.#limit(reply, asked, limits);
          continue;
        }
        if (!isTemporary(reply)) return reply;
      }
      tried += 1;
      if (tried < tries) await this.#pauseAfter(url, reply, tried, tries);
      else if (!(reply instanceof PrshotsError)) return reply;
      else if (tried === 1) throw reply;
      else throw new UnreachableError(message("after_tries", { problem: reply.message, tries: tried }));
    }
  }
  /** Send an upload as soon as the service has room for it. */
  async #sendPaced(url, request) {
    await this.#waitForAPlace();
    try {
      const reply = await this.#sendOnce(url, request());
      const limit = reply instanceof PrshotsError ? void 0 : rateLimitOf(reply.headers);
      const isCounted = !(reply instanceof PrshotsError) && reply.status < 300;
      if (limit || isCounted) this.#pace.update(limit, this.clock.now());
      return reply;
    } finally {
      this.#pace.end();
    }
  }
  /** Return the response, or an error if another try may help. */
  async #sendOnce(url, request) {
    const seconds = Math.min(TIMEOUT_SECONDS, Math.max(this.secondsLeft, 0));
    const signal = AbortSignal.any([this.stopped, AbortSignal.timeout(Math.ceil(seconds * 1e3))]);
    try {
      const reply = await fetch(url, { ...request, redirect: "manual", signal });
      return { url, status: reply.status, headers: reply.headers, text: await textOf2(reply) };
    } catch (error) {
      if (error instanceof PrshotsError) throw error;
      if (this.stopped.aborted) throw new UnreachableError(message("stopped"));
      const permanent = permanentError(url, error);
      if (permanent) throw permanent;
      return new UnreachableError(noReplyMessage(url, error));
    }
  }
  #limit(reply, asked, limits) {
    const limit = rateLimitOf(reply.headers);
    const { host } = new URL(reply.url);
    const reason = limit ? limitMessage(limit) : message("limits_the_rate", { host });
    if (limits === LIMITS || asked > LONGEST_LIMIT_SECONDS)
      throw new RateLimitedError(message("asks_to_wait", { reason, seconds: Math.round(asked) }));
    const seconds = Math.max(asked, FIRST_PAUSE_SECONDS);
    this.#tellWait(reason, seconds);
    this.#limitedUntil = Math.max(this.#limitedUntil, this.clock.now() + seconds);
  }
  async #waitForTheLimit() {
    for (let left = this.#left(); left > 0; left = this.#left()) await this.#pause(left);
  }
  #left() {
    return this.#limitedUntil - this.clock.now();
  }
  async #waitForAPlace() {
    for (; ; ) {
      const seconds = this.#pace.wait(this.clock.now());
      if (seconds === 0) return this.#pace.start();
      if (seconds === void 0) await this.#pace.otherResponse();
      else {
        if (this.#pace.limit && seconds > SAID_FROM_SECONDS)
          this.#tellWait(limitMessage(this.#pace.limit), seconds);
        await this.#pause(seconds);
      }
    }
  }
  /** Pause, twice as long each time. The random part spreads out jobs that failed at the same moment. */
  async #pauseAfter(url, reply, tried, tries) {
    const own = FIRST_PAUSE_SECONDS * 2 ** (tried - 1) * (1 + Math.random() / 2);
    const isError = reply instanceof PrshotsError;
    const asked = isError ? 0 : retryAfter(reply, this.clock.now()) ?? 0;
    const seconds = Math.max(own, Math.min(asked, LONGEST_PAUSE_SECONDS));
    const { host } = new URL(url);
    const reason = isError ? reply.message : message("answered", { who: host, status: reply.status });
    const words2 = message("retrying", { reason, seconds: Math.ceil(seconds), tried, tries });
    this.#tell(reason, words2, seconds);
    await this.#pause(seconds);
  }
  #tellWait(reason, seconds) {
    this.#tell(reason, message("waiting", { reason, seconds: Math.ceil(seconds) }), seconds);
  }
  /**
   * Say why there is a pause once, even if many requests run into it, and the same words never again. Throws
   * UnreachableError if the pause would outlast the deadline.
   */
  #tell(reason, words2, seconds) {
    if (seconds > this.secondsLeft) throw new UnreachableError(message("gave_up", { reason }));
    const now = this.clock.now();
    if ([reason, words2].some((key) => now < (this.#told.get(key) ?? 0))) return;
    this.#told.set(reason, now + seconds).set(words2, Number.POSITIVE_INFINITY);
    this.say(words2);
  }
  async #pause(seconds) {
    try {
      await this.clock.pause(seconds, this.stopped);
    } catch {
      throw new UnreachableError(message("stopped"));
    }
  }
};
async function textOf2(reply) {
  const chunks = [];
  let size = 0;
  for await (const chunk2 of reply.body ?? []) {
    chunks.push(chunk2);
    size += chunk2.length;
    if (size > MAX_REPLY_BYTES)
      throw new CallError(message("reply_too_large", { host: new URL(reply.url).host }));
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
function isTemporary({ status, text: text2 }) {
  if (text2.includes(QUOTA_REACHED)) return false;
  return TEMPORARY.has(status) || status >= FIRST_OF_A_PROXY && status <= LAST_OF_A_PROXY;
}
function limitOf(reply, now) {
  if (reply.status !== 429 && reply.status !== 403) return void 0;
  const asked = rateLimitOf(reply.headers)?.seconds ?? retryAfter(reply, now);
  if (asked !== void 0) return asked;
  const header = (name) => reply.headers.get(`x-ratelimit-${name}`) ?? reply.headers.get(`ratelimit-${name}`) ?? "";
  const reset = header("reset");
  if (header("remaining") === "0" && /^\d+(\.\d+)?$/.test(reset)) return Math.max(Number(reset) - now, 0) + 1;
  const isLimit = reply.status === 429 || SECONDARY_LIMIT.test(reply.text);
  return isLimit ? LONGEST_PAUSE_SECONDS : void 0;
}
function retryAfter(reply, now) {
  const given = (reply.headers.get("retry-after") ?? "").trim();
  if (/^[0-9]+$/.test(given)) return Number(given);
  const date = /^[a-z]+, .* GMT$/i.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(date) ? void 0 : Math.max(date / 1e3 - now, 0);
}
function jsonOf(reply, whose) {
  try {
    return reply.text === "" ? null : JSON.parse(reply.text);
  } catch {
    throw new CallError(
      `${whose} answered ${new URL(reply.url).pathname} with ${reply.status} and no JSON: is the address right?`
    );
  }
}
function permanentError(url, error) {
  const why = causeOf(error);
  const { origin } = new URL(url);
  if (error instanceof TypeError && error.cause === void 0 && /header/.test(error.message))
    return new CallError(`${origin} cannot be called: a header has invalid characters`);
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(why))
    return new UnreachableError(
      `${origin} has an untrusted certificate: ${why}. If your own authority issued it, set NODE_EXTRA_CA_CERTS to the file with the authority's certificate`
    );
  if (/WRONG_VERSION_NUMBER/.test(why))
    return new UnreachableError(`${origin} does not speak TLS: does its address begin with http://?`);
  return void 0;
}
var NO_CONNECTION = {
  ECONNREFUSED: "connection_refused",
  ENOTFOUND: "host_not_found",
  EAI_AGAIN: "host_not_found",
  ETIMEDOUT: "timed_out",
  UND_ERR_CONNECT_TIMEOUT: "timed_out",
  ENETUNREACH: "network_unreachable",
  EHOSTUNREACH: "network_unreachable"
};
function noReplyMessage(url, error) {
  const { host } = new URL(url);
  const code = causeOf(error);
  const why = NO_CONNECTION[code];
  if (why) return message("cannot_connect", { host, why: message(why) });
  const isLate = error instanceof DOMException && error.name === "TimeoutError";
  if (isLate || /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)) return message("no_answer", { host });
  return message("lost_connection", { host });
}
function causeOf(error) {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}

// src/keyless.ts
var UPLOAD_TOKEN = /^msr_[0-9a-f]{64}$/;
function tokenSource(url, token2, project, environ, sender) {
  const given = token2.trim();
  if (given) {
    if (!UPLOAD_TOKEN.test(given))
      throw new InvalidInputError(message("invalid_token", { count: given.length }));
    return { token: async () => given, renew: async () => void 0 };
  }
  const idToken = idTokenSource(url, environ, sender);
  if (!idToken)
    throw new InvalidInputError(
      `no upload token: set PRSHOTS_TOKEN, or give the job an ID token (GitHub: permissions: id-token: write; GitLab: id_tokens: {PRSHOTS_ID_TOKEN: {aud: ${url}}})`
    );
  return new ExchangedToken(async () => exchangeToken(url, await idToken(), project, sender));
}
var ExchangedToken = class {
  constructor(exchange) {
    this.exchange = exchange;
  }
  exchange;
  #current;
  token() {
    this.#current ??= this.#exchange();
    return this.#current;
  }
  async renew(refused) {
    if (await this.#current === refused) this.#current = this.#exchange();
    return this.token();
  }
  /** A failed exchange is not kept: the next upload tries again. */
  #exchange() {
    return this.exchange().catch((error) => {
      this.#current = void 0;
      throw error;
    });
  }
};
function idTokenSource(url, environ, sender) {
  const given = token(environ.PRSHOTS_ID_TOKEN ?? "");
  if (given) return async () => given;
  const address2 = address(environ.ACTIONS_ID_TOKEN_REQUEST_URL);
  const secret = token(environ.ACTIONS_ID_TOKEN_REQUEST_TOKEN ?? "");
  if (!address2 || !secret || !URL.canParse(address2)) return void 0;
  const asked = new URL(address2);
  asked.searchParams.set("audience", url);
  return async () => {
    const headers = { Authorization: `bearer ${secret}`, Accept: "application/json" };
    const reply = await sender.send(asked.href, () => ({ headers }));
    const { value } = jsonOf(reply, asked.host) ?? {};
    if (reply.status !== 200 || typeof value !== "string" || !value)
      throw new CallError(message("no_id_token", { host: asked.host, status: reply.status }));
    return value;
  };
}
async function exchangeToken(url, idToken, project, sender) {
  const body = JSON.stringify({ id_token: idToken, ...project && { project } });
  const headers = { "Content-Type": "application/json" };
  const reply = await sender.send(`${url}/v1/oidc/token`, () => ({ method: "POST", headers, body }));
  refuseRedirect(url, reply);
  if (reply.status === 401)
    throw new UnauthorizedError(
      `${url} did not accept this job's ID token; the service's log says why. Check that the project trusts this issuer with the job's repository, ref and environment; that the ID token's audience is ${url}; and that ${called("--project")} is organization/name or the project's id`
    );
  const granted = jsonOf(reply, url) ?? {};
  const { token: token2, error } = granted;
  if (reply.status !== 200)
    throw new CallError(
      `${url} answered ${reply.status} to this job's ID token: ${String(error ?? "no reason given").slice(0, 300)}`
    );
  if (typeof token2 !== "string" || !UPLOAD_TOKEN.test(token2))
    throw new CallError(`${url} answered without a token: is it the address of a prshots API?`);
  if (project && !namesOfProject(granted).includes(project))
    throw new CallError(
      message("other_project", { url, given: `${granted.organization}/${granted.project}`, project })
    );
  return token2;
}
function namesOfProject({ project_id, organization, project }) {
  return [project_id, `${organization}/${project}`, ...organization === "local" ? [project] : []];
}

// src/service.ts
import { createHash, randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";

// src/replies.ts
var MAX_DEPTH = 50;
var STATES = ["compared", "no_baseline", "incomplete", "failed", "running"];
var VERDICTS = ["changed", "moved", "new", "removed", "failed", "unchanged"];
var GATE_STATES = ["passed", "waiting", "rejected", "blocked"];
var STATUS_NAME = "prshots";
var COMMIT_STATES = ["success", "pending", "failure"];
function isState(value) {
  return STATES.some((state) => state === value);
}
function isCounts(value) {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([name, count]) => isVerdict(name) && Number.isSafeInteger(count));
}
function isVerdict(value) {
  return VERDICTS.some((verdict) => verdict === value);
}
function comparedShot(value) {
  if (!isVerdict(value?.verdict)) return void 0;
  return {
    name: String(value.name),
    viewport: String(value.viewport),
    theme: String(value.theme),
    verdict: value.verdict,
    pixels: Number(value.pixels ?? 0),
    shift: Number(value.shift ?? 0),
    ancestor: value.ancestor !== false,
    isPair: value.pair !== void 0 && value.pair !== null,
    reason: String(value.reason ?? ""),
    review: String(value.review?.state ?? "not_needed")
  };
}
function gateIn({
  state,
  open: open3,
  reason,
  statuses,
  commit_sha,
  dashboard_url
}) {
  const known = GATE_STATES.find((each) => each === state);
  const found = Array.isArray(statuses) ? statuses.map(gateStatus) : [];
  if (!known || !found.length || !found.every((each) => each !== void 0)) return void 0;
  return {
    state: known,
    open: Number(open3 ?? 0),
    reason: String(reason ?? ""),
    statuses: found,
    commitSha: String(commit_sha ?? ""),
    dashboardUrl: address(dashboard_url)
  };
}
function gateStatus(value) {
  const { context, state, description } = value ?? {};
  const known = COMMIT_STATES.find((each) => each === state);
  if (!known || String(context).split("/")[0] !== STATUS_NAME) return void 0;
  return { context: String(context), state: known, description: String(description ?? "") };
}
function objectIn(text2) {
  try {
    const value = JSON.parse(text2);
    const isOne = typeof value === "object" && value !== null && !Array.isArray(value);
    return isOne && !isDeeper(value, MAX_DEPTH) ? value : void 0;
  } catch {
    return void 0;
  }
}
function isDeeper(value, levels) {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

// src/service.ts
var HEADERS = { "User-Agent": "prshots-node" };
var MAX_COMMENT_BYTES = 65536;
var MIN_COMMENT_BYTES = 1024;
var MAX_KNOWN_SHOTS = 1e3;
var MAX_REASON_CHARACTERS2 = 300;
var IMAGE_ID = /^[0-9a-f]{32}$/;
var FINDING_ROUTES = /^\/v1\/(images\/|compare\?|pull$)/;
var UPLOADS = /* @__PURE__ */ new Set(["/v1/upload", "/v1/baseline", "/v1/staged"]);
var NOT_ASKED = [WrongAddressError, RefusedInputError, PayloadTooLargeError];
var VIEWS = CONTRACT.options.view.choices;
var Service = class {
  constructor(url, tokens, sender) {
    this.url = url;
    this.tokens = tokens;
    this.sender = sender;
  }
  url;
  tokens;
  sender;
  /** How many seconds are left for the command. */
  get secondsLeft() {
    return this.sender.secondsLeft;
  }
  #maxImageBytes;
  /** Upload an image: to a pull request, with its before image if it has one, or as a branch's baseline. */
  async send(shot, target) {
    const { path: path4, where } = placeOf2(target);
    const image = blobOf(shot);
    const before = shot.before && target.prNumber !== void 0 ? blobOf(shot.before) : void 0;
    const { name, viewport, theme } = shot;
    const fields = { name, viewport, ...theme && { theme }, ...where };
    const headers = { "Idempotency-Key": randomUUID() };
    const reply = await this.#call(path4, () => {
      const form = new FormData();
      for (const [field, value] of Object.entries(fields)) form.append(field, String(value));
      form.append("image", image, "image");
      if (before) form.append("before", before, "before");
      return { method: "POST", body: form, headers };
    });
    const { id, view_url: viewUrl, markdown } = reply;
    if (typeof id !== "string" || typeof viewUrl !== "string" || typeof markdown !== "string")
      throw this.#unexpectedReply("id, view_url and markdown");
    return { id, viewUrl, markdown };
  }
  /** Return whether the service has these bytes for this shot. From then on, it has them for this commit. */
  async isKnown({ name, viewport, theme, image }, target) {
    const sha256 = createHash("sha256").update(image).digest("hex");
    return !(await this.missing([{ name, viewport, theme, sha256 }], target)).length;
  }
  /** Give the commit the images whose bytes the service has, and return the other shots, which have to be sent. */
  async missing(shots, target) {
    const { path: path4, where } = placeOf2(target);
    const found = [];
    for (let start = 0; start < shots.length; start += MAX_KNOWN_SHOTS) {
      const asked = shots.slice(start, start + MAX_KNOWN_SHOTS);
      try {
        const { missing } = await this.#tell(`${path4}/known`, { ...where, shots: asked });
        if (!Array.isArray(missing) || !missing.every((shot) => shot instanceof Object))
          throw this.#unexpectedReply("missing");
        found.push(...missing);
      } catch (error) {
        if (!NOT_ASKED.some((kind) => error instanceof kind)) throw error;
        found.push(...asked);
      }
    }
    return found;
  }
  /** Say that a commit's baselines are all there. */
  async completeBaselines(branch2, commitSha) {
    await this.#tell("/v1/baseline/complete", { branch: branch2, commit_sha: commitSha });
  }
  /**
   * Compare a pull request's images with the baselines of a branch, and return what is known so far. `commits` are the
   * base's, newest first. With `complete`, a shot that is missing was removed. Decisions about `queuedPulls`, the pull
   * requests ahead in a merge queue, also count.
   */
  async compare(prNumber2, commitSha, base, complete, queuedPulls2 = []) {
    const { branch: branch2, commits } = base;
    const queued = queuedPulls2.length ? { queued_pulls: queuedPulls2 } : {};
    const asked = { pr_number: prNumber2, commit_sha: commitSha, branch: branch2, commits, complete, ...queued };
    return this.#comparisonIn(await this.#tell("/v1/compare", asked));
  }
  /** Return the latest comparison of a pull request; nothing without one. */
  async comparison(prNumber2) {
    try {
      return this.#comparisonIn(await this.#call(`/v1/compare?pr_number=${prNumber2}`, () => ({})));
    } catch (error) {
      if (error instanceof NotFoundError) return void 0;
      throw error;
    }
  }
  /** Return the gate of the newest comparison, and the commit statuses to post. */
  async gate(prNumber2, noBaseline = "block") {
    return this.#gateIn(
      await this.#call(`/v1/gate?pr_number=${prNumber2}&no_baseline=${noBaseline}`, () => ({}))
    );
  }
  /** Record that a commit's run takes no screenshots, and return the gate. */
  async skip(prNumber2, commitSha, reason) {
    const asked = { pr_number: prNumber2, commit_sha: commitSha, skip: reason };
    return this.#gateIn(await this.#tell("/v1/gate", asked));
  }
  /** Tell the service about a pull request, and return its page on the dashboard. Throws NotFoundError without images. */
  async describe(prNumber2, about) {
    const { dashboard_url: url } = await this.#tell("/v1/pull", { pr_number: prNumber2, ...about });
    return address(url);
  }
  /** Return the pull request's comment in at most this many bytes of markdown. */
  async comment(prNumber2, limit = MAX_COMMENT_BYTES, marker = "html", view = "all") {
    const asked = new URLSearchParams({ pr_number: String(prNumber2), limit: String(limit), marker });
    if (view !== "all") asked.set("view", view);
    const reply = await this.#call(`/v1/comment?${asked}`, () => ({}));
    const { markdown, heading, count, listed, omitted, siblings } = reply;
    if (typeof markdown !== "string" || typeof count !== "number")
      throw this.#unexpectedReply("markdown and count");
    return {
      markdown,
      heading: typeof heading === "string" ? heading : "",
      count,
      listed: Number(listed ?? 0),
      omitted: Number(omitted ?? 0),
      siblings: Number(siblings ?? 0)
    };
  }
  /** Say that the pull request is closed, and as which commit of a branch it was merged, if it was. */
  async expire(prNumber2, merge) {
    const { mergedAs, branch: branch2 } = merge;
    const merged = mergedAs && branch2 ? { merged_as: mergedAs, branch: branch2 } : {};
    const reply = await this.#tell("/v1/expire", { pr_number: prNumber2, ...merged });
    const { policy, marked, expired, baselines } = reply;
    if (typeof policy !== "string" || typeof marked !== "number" || typeof expired !== "number")
      throw this.#unexpectedReply("policy, marked and expired");
    return { prNumber: prNumber2, policy, marked, expired, baselines: Number(baselines ?? 0) };
  }
  /**
   * Move what is staged for a branch to its pull request. `repository` is the owner/name that has the branch. `fromFork`:
   * it is not the project's own.
   */
  async moveStaged(branch2, prNumber2, repository2, fromFork) {
    const asked = { branch: branch2, pr_number: prNumber2, repository: repository2, from_fork: fromFork };
    const { moved, kept, reason } = await this.#tell("/v1/staged/move", asked);
    if (typeof moved !== "number" || typeof kept !== "number") throw this.#unexpectedReply("moved and kept");
    return { moved, kept, reason: typeof reason === "string" ? reason : "" };
  }
  /** Delete one image now. Throws NotFoundError. */
  async delete(id) {
    if (!IMAGE_ID.test(id)) throw new InvalidInputError(message("invalid_image_id"));
    await this.#call(`/v1/images/${id}`, () => ({ method: "DELETE" }));
  }
  /** Return the size that is too large for an image; Infinity when the service does not say: then its 413 decides. */
  maxImageBytes() {
    this.#maxImageBytes ??= this.#askForMaxImageBytes();
    return this.#maxImageBytes;
  }
  /** Throws ImageAddressError. */
  async #askForMaxImageBytes() {
    const once = { tries: 1 };
    const asking = this.sender.send(`${this.url}/v1/limits`, () => ({ headers: HEADERS }), once);
    const reply = await asking.catch(() => void 0);
    if (reply) refuseImageAddress(this.url, reply);
    if (reply?.status !== 200) return Number.POSITIVE_INFINITY;
    try {
      const bytes = jsonOf(reply, this.url)?.max_image_bytes;
      return typeof bytes === "number" && bytes > 0 ? bytes : Number.POSITIVE_INFINITY;
    } catch {
      return Number.POSITIVE_INFINITY;
    }
  }
  #tell(path4, asked) {
    const headers = { "Content-Type": "application/json" };
    return this.#call(path4, () => ({ method: "POST", body: JSON.stringify(asked), headers }));
  }
  #comparisonIn(value) {
    const { state, branch: branch2, base_commit: baseCommit, commit_sha: commitSha, counts } = value;
    if (typeof branch2 !== "string" || typeof commitSha !== "string" || !isState(state) || !isCounts(counts))
      throw this.#unexpectedReply("state and counts");
    const shots = Array.isArray(value.shots) ? value.shots.map(comparedShot) : [];
    if (!shots.every((shot) => shot !== void 0)) throw this.#unexpectedReply("a verdict for each shot");
    return {
      state,
      branch: branch2,
      commitSha,
      baseCommit: typeof baseCommit === "string" ? baseCommit : "",
      counts,
      pairs: typeof value.pairs === "number" ? value.pairs : 0,
      shots,
      dashboardUrl: address(value.dashboard_url),
      json: value
    };
  }
  #gateIn(value) {
    const gate2 = gateIn(value);
    if (!gate2) throw this.#unexpectedReply("a gate and its statuses");
    return gate2;
  }
  #unexpectedReply(missing) {
    return new CallError(
      `${this.url} answered without ${missing}: is it a prshots API, and not older than this client?`
    );
  }
  async #call(path4, request) {
    const token2 = await this.tokens.token();
    let reply = await this.#sendOnce(path4, request, token2);
    if (reply.status === 401) {
      const other = await this.tokens.renew(token2);
      if (other) reply = await this.#sendOnce(path4, request, other);
    }
    refuseImageAddress(this.url, reply);
    return this.#value(reply, path4);
  }
  #sendOnce(path4, request, token2) {
    const own = { ...HEADERS, Authorization: `Bearer ${token2}` };
    const signed = () => {
      const { headers, ...rest } = request();
      return { ...rest, headers: { ...headers, ...own } };
    };
    return this.sender.send(this.url + path4, signed, { isUpload: UPLOADS.has(path4) });
  }
  #value(reply, path4) {
    const { status } = reply;
    refuseRedirect(this.url, reply);
    const value = objectIn(reply.text);
    if (status === 413 && !value)
      throw new RefusedInputError(message("proxy_refused_size", { url: this.url }));
    if (status === 404 && value && FINDING_ROUTES.test(path4))
      throw new NotFoundError(message("answered_why", { who: this.url, status, why: "not found" }));
    if (!value || status === 404 || status === 405) {
      const phrase = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
      const answered = message("answered", { who: this.url, status: phrase });
      if (status >= 500) throw new CallError(answered);
      throw new WrongAddressError(message("is_this_prshots", { answered }));
    }
    if (status === 200 || status === 202) return value;
    if (status === 401) throw new UnauthorizedError(message("wrong_token", { url: this.url }));
    if (value.error === EXPIRE_FAILED) throw new CallError(EXPIRE_FAILED);
    if (value.error === QUOTA_REACHED) throw new CallError(message("quota_reached", { who: this.url }));
    const why = String(value.error ?? STATUS_CODES[status]).slice(0, MAX_REASON_CHARACTERS2);
    const words2 = message("answered_why", { who: this.url, status, why });
    if (status === 413) throw new PayloadTooLargeError(words2);
    throw [400, 415].includes(status) ? new RefusedInputError(words2) : new CallError(words2);
  }
};
function placeOf2({ prNumber: prNumber2, baselineOf, commitSha }) {
  return prNumber2 === void 0 ? { path: "/v1/baseline", where: { branch: baselineOf, commit_sha: commitSha } } : { path: "/v1/upload", where: { pr_number: prNumber2, commit_sha: commitSha } };
}
function blobOf({ image, contentType }) {
  return new Blob([new Uint8Array(image)], { type: contentType });
}

// src/commands/service_options.ts
function jobOf({ job, environ }) {
  return job ?? detectJob(environ);
}
function senderOf({ stopped, say, deadline: deadline2 }) {
  return new Sender(stopped, TRIES, say, void 0, deadline2);
}
function deadlineIn({ timeout }, environ) {
  const { largest, default: usual } = CONTRACT.options.timeout;
  const read2 = (given2) => {
    const seconds = prNumber(given2);
    return seconds !== void 0 && seconds <= largest ? seconds : void 0;
  };
  const takes = `seconds from 1 to ${largest}`;
  const given = timeout ?? environ.PRSHOTS_TIMEOUT;
  return Date.now() / 1e3 + (checked(called("--timeout"), given, read2, takes) ?? usual);
}
function connect(options, context) {
  const { environ } = context;
  const url = serviceAddress(options.url || (environ.PRSHOTS_URL ?? ""));
  const token2 = options.token || (environ.PRSHOTS_TOKEN ?? "");
  const project = (options.project || (environ.PRSHOTS_PROJECT ?? "")).trim();
  const sender = senderOf(context);
  return new Service(url, tokenSource(url, token2, project, environ, sender), sender);
}
function serviceAddress(given) {
  const url = given.trim();
  if (!url) throw new InvalidInputError(message("no_service_url"));
  const address2 = root(url);
  if (address2 && URL.canParse(address2)) return address2;
  if (url.includes("@"))
    throw new InvalidInputError(message("url_has_password"));
  const meant = url.includes("://") ? "" : root(withScheme(url));
  const advice2 = meant ? message("did_you_mean", { meant }) : message("use_address");
  throw new InvalidInputError(message("invalid_url", { given: quote(url, 100), advice: advice2 }));
}
function withScheme(address2) {
  const secure = `https://${address2}`;
  return URL.canParse(secure) && isPublic(secure) ? secure : `http://${address2}`;
}
function jobAtForge(job, options, environ) {
  const takes = `one of ${FORGES.join(", ")}`;
  const kind = checked(called("--forge"), options.forge ?? environ.PRSHOTS_FORGE, forgeIn, takes);
  return withForge(job, environ, {
    kind,
    api: options.forgeUrl || (environ.PRSHOTS_FORGE_URL ?? ""),
    repository: options.repository || (environ.PRSHOTS_REPOSITORY ?? ""),
    token: options.forgeToken || (environ.PRSHOTS_FORGE_TOKEN ?? "")
  });
}
function forgeIn(given) {
  return FORGES.find((forge) => forge === given);
}
function prIn({ pr }, environ) {
  const takes = message("pull_request_rule");
  return checked(called("--pr"), pr ?? environ.PRSHOTS_PR, prNumber, takes);
}
function commitIn({ commit: commit2 }, environ) {
  const takes = message("commit_rule");
  return checked(called("--commit"), commit2 || environ.PRSHOTS_COMMIT, commit, takes) ?? "";
}
function branchIn2({ branch: branch2 }, environ) {
  const takes = message("branch_rule");
  return checked(called("--branch"), branch2 || environ.PRSHOTS_BRANCH, branch, takes) ?? "";
}
function checked(name, given, read2, takes) {
  const value = typeof given === "string" ? given.trim() : given;
  if (value === void 0 || value === "") return void 0;
  const found = read2(value);
  if (!found) throw new InvalidInputError(`${name} is invalid: got ${quote(String(value))}; use ${takes}`);
  return found;
}

// src/forges/bitbucket.ts
import { createHash as createHash2 } from "node:crypto";

// src/forges/forge.ts
function statusFields({ context, state, description, url }, most = 255) {
  const letters = [...description];
  const beginning = letters.slice(0, most - 1).join("");
  const words2 = letters.length > most ? `${beginning.trimEnd()}…` : description;
  const fields = { context, state, description: words2, target_url: url };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
}
function mergeAt(commitSha, branch2) {
  const [sha, name] = [fullCommit(commitSha), branch(branch2)];
  return sha && name ? { commitSha: sha, branch: name } : void 0;
}
var NO_PROXY = {
  proxiedImages: async () => [],
  purge: async () => false
};
function markerLine(marker, prNumber2) {
  return marker === "link" ? `[//]: # (svc:pr-${prNumber2})` : `<!-- svc:pr-${prNumber2} -->`;
}

// src/forges/forge_api.ts
var MAX_PAGES = 1e3;
var MAX_REDIRECTS = 20;
var ForgeApi = class {
  constructor(label, url, headers, sender, needs) {
    this.label = label;
    this.url = url;
    this.headers = headers;
    this.sender = sender;
    this.needs = needs;
  }
  label;
  url;
  headers;
  sender;
  needs;
  /** Return the response with any status. A repository may have moved, so redirects are followed. */
  async reply(method, path4, content2 = {}) {
    let [asked, json, verb] = [this.#address(path4, content2.params), content2.json, method];
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const reply = await this.#sendOnce(verb, asked, json, content2.headers);
      const target = reply.status >= 300 && reply.status < 400 ? reply.headers.get("location") : null;
      if (target === null) return reply;
      asked = this.#sameOrigin(new URL(target, asked));
      if (reply.status === 303 || reply.status === 302 || reply.status === 301 && verb === "POST")
        [verb, json] = ["GET", void 0];
    }
    throw new ForgeError(`${this.label} redirects ${path4} more than ${MAX_REDIRECTS} times`);
  }
  /** Return the response's JSON. Throws NotFoundError, ForgeRefusedError, ForgeError. */
  async call(method, path4, content2 = {}) {
    return this.value(await this.reply(method, path4, content2));
  }
  value(reply) {
    const { pathname } = new URL(reply.url);
    if (reply.status === 404 || reply.status === 410)
      throw new NotFoundError(`${this.label} has nothing at ${pathname}, or the token has no access to it`);
    if (reply.status < 200 || reply.status >= 300) throw this.#error(reply);
    if (reply.text === "") return null;
    const value = parseJson(reply.text);
    if (value === void 0)
      throw new ForgeError(message("forge_sent_no_json", { forge: this.label, path: pathname }));
    return value;
  }
  /** Set a commit's status. A 404 may mean that the token lacks a permission. */
  async postStatus(path4, json, context) {
    const reply = await this.reply("POST", path4, { json });
    const { label: forge, needs } = this;
    const why = errorMessage(reply);
    if (reply.status === 400 || reply.status === 422)
      throw new ForgeError(message("forge_rejects_status", { forge, why }));
    if (reply.status === 404) {
      const { pathname } = new URL(reply.url);
      throw new ForgeRefusedError(message("forge_has_no_commit", { forge, path: pathname, why, needs }));
    }
    if (!Object.values(this.value(reply) ?? {}).includes(context)) throw this.#unlike("commit status");
  }
  #error(reply) {
    const { label: forge, needs } = this;
    const { status } = reply;
    const why = errorMessage(reply);
    if (status === 401) return new ForgeError(message("forge_refused_token", { forge, why, needs }));
    if (status === 403) return new ForgeRefusedError(message("forge_does_not_allow", { forge, why, needs }));
    return new ForgeError(message("answered_why", { who: forge, status, why }));
  }
  /**
   * Return all entries of a list. `next` finds the address of the next page. Only its query is used, because a forge
   * behind a proxy may not know its own address.
   */
  async entries(path4, params, { next, page: entriesOf2 } = LINKED) {
    const found = [];
    let asked = params;
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const reply = await this.reply("GET", path4, { params: asked });
      const value = this.value(reply);
      const page = entriesOf2(value);
      if (!Array.isArray(page) || !page.every((entry) => typeof entry === "object" && entry !== null))
        throw new ForgeError(message("forge_sent_no_list", { forge: this.label, path: path4 }));
      found.push(...page);
      const following = next(reply, value);
      if (!following) return found;
      asked = new URL(following, this.url).searchParams;
    }
    throw new ForgeError(`${this.label} has more than ${MAX_PAGES} pages of comments`);
  }
  async remove(path4) {
    try {
      await this.call("DELETE", path4);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  /** Return the comment. Throws ForgeError if it has no id: then this is not the forge. */
  checked(comment2) {
    if (!comment2.id) throw this.#unlike("comment");
    return comment2;
  }
  #unlike(what) {
    return new ForgeError(
      `${this.label} answered with something other than a ${what}: is this the address of ${this.label}?`
    );
  }
  #sendOnce(method, url, json, more) {
    const headers = {
      "User-Agent": "prshots",
      Accept: "application/json",
      ...this.headers,
      ...more,
      ...json && { "Content-Type": "application/json" }
    };
    return this.sender.send(url, () => ({ method, headers, ...json && { body: JSON.stringify(json) } }));
  }
  /** Never send our token to another address, even if the forge links or redirects there. */
  #sameOrigin(target) {
    const here = new URL(this.url).origin;
    if (target.origin !== here)
      throw new ForgeError(
        `${this.label} at ${here} redirects to ${target.origin}, which does not get our token: if the API is there, set ${called("--forge-url")} to that address`
      );
    return target.href;
  }
  #address(path4, params) {
    const query = new URLSearchParams(params).toString();
    const address2 = path4.startsWith("/") ? this.url + path4 : this.#sameOrigin(new URL(path4));
    return query ? `${address2}?${query}` : address2;
  }
};
var LINKED = {
  page: (value) => value,
  next: (reply) => /<([^>]*)>\s*;\s*rel="?next"?/.exec(reply.headers.get("link") ?? "")?.[1]
};
function textAt(value, ...keys) {
  let found = value;
  for (const key of keys) found = found?.[key];
  return typeof found === "string" || typeof found === "number" ? String(found) : "";
}
function errorMessage(reply) {
  const value = parseJson(reply.text);
  const words2 = objections(value) || textAt(value, "message") || textAt(value, "error_description") || textAt(value, "error", "message");
  return ((words2 || textAt(value, "error") || "no reason given") + scopes(value)).slice(0, 300);
}
function objections(value) {
  const { errors, message: fields } = value ?? {};
  const found = Array.isArray(errors) ? errors.map((error) => textAt(error, "message")) : Object.entries(typeof fields === "object" ? fields ?? {} : {}).map(([name, why]) => `${name} ${why}`);
  return found.filter(Boolean).join("; ");
}
function scopes(value) {
  const { error } = value ?? {};
  const required = error?.detail?.required;
  return Array.isArray(required) ? message("required_scopes", { scopes: required.join(", ") }) : "";
}
function parseJson(text2) {
  try {
    return JSON.parse(text2);
  } catch {
    return void 0;
  }
}

// src/forges/bitbucket.ts
var NEEDS = "Bitbucket takes a repository, project or workspace access token with the scope pullrequest:write, or as EMAIL:TOKEN an API token with read:user:bitbucket, read:pullrequest:bitbucket and write:pullrequest:bitbucket (write does not include read); for commit statuses, it also needs repository or read:repository:bitbucket, and only the token that created a status can change it";
var STATES2 = { success: "SUCCESSFUL", pending: "INPROGRESS", failure: "FAILED" };
var MAX_KEY = 40;
var PAGING = {
  page: (value) => value?.values,
  next: (_reply, value) => textAt(value, "next")
};
var Bitbucket = class {
  label = "Bitbucket";
  maxCommentBytes = 32768;
  markerStyle = "link";
  #api;
  #repository;
  #pullRequests;
  #me = "";
  #hasAsked = false;
  constructor({ api, repository: repository2, token: token2, sender }) {
    this.#api = new ForgeApi(this.label, api, { Authorization: credentials(token2) }, sender, NEEDS);
    this.#repository = repository2;
    this.#pullRequests = `/repositories/${repository2}/pullrequests`;
  }
  /**
   * Return our account; undefined for an access token, which belongs to no account that we can ask for. Then an attempt
   * shows which comment is ours: only its author may change it.
   */
  async me() {
    if (!this.#me && !this.#hasAsked) {
      this.#hasAsked = true;
      const reply = await this.#api.reply("GET", "/user");
      if (reply.status !== 401 && reply.status !== 403) this.#me = textAt(this.#api.value(reply), "uuid");
    }
    return this.#me || void 0;
  }
  async comments(prNumber2) {
    const entries = await this.#api.entries(this.#comments(prNumber2), { pagelen: "100" }, PAGING);
    return entries.filter((entry) => !entry.deleted && !entry.inline).map((entry) => this.#comment(entry));
  }
  async create(prNumber2, body) {
    const made = this.#comment(await this.#api.call("POST", this.#comments(prNumber2), content(body)));
    this.#me ||= made.author;
    return made;
  }
  async update(prNumber2, id, body) {
    try {
      const changed = await this.#api.call("PUT", `${this.#comments(prNumber2)}/${id}`, content(body));
      this.#me ||= this.#comment(changed).author;
    } catch (error) {
      if (!(error instanceof ForgeRefusedError) || await this.me() !== void 0) throw error;
      throw new NotFoundError(`${this.label} says that comment ${id} is not ours`);
    }
  }
  delete(prNumber2, id) {
    return this.#api.remove(`${this.#comments(prNumber2)}/${id}`);
  }
  async setStatus(commitSha, status) {
    const { description } = statusFields(status);
    const fields = {
      key: keyOf(status.context),
      name: status.context,
      state: STATES2[status.state],
      ...description && { description },
      url: status.url || `https://bitbucket.org/${this.#repository}/commits/${commitSha}`
      // required
    };
    const path4 = `/repositories/${this.#repository}/commit/${commitSha}/statuses/build`;
    await this.#api.postStatus(path4, fields, status.context);
  }
  async description(prNumber2) {
    return textAt(await this.#api.call("GET", `${this.#pullRequests}/${prNumber2}`), "description");
  }
  /** Change the text of an open pull request: Bitbucket doesn't change a closed one. */
  async setDescription(prNumber2, description) {
    const path4 = `${this.#pullRequests}/${prNumber2}`;
    const title = textAt(await this.#api.call("GET", path4), "title");
    await this.#api.call("PUT", path4, { json: { title, description } });
  }
  /** Bitbucket abbreviates the commit, so it can't be used. */
  async mergeOf() {
    return void 0;
  }
  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;
  #comments(prNumber2) {
    return `${this.#pullRequests}/${prNumber2}/comments`;
  }
  #comment(entry) {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "content", "raw"),
      author: textAt(entry, "user", "uuid"),
      url: textAt(entry, "links", "html", "href")
    });
  }
};
function keyOf(name) {
  const letters = [...name];
  if (letters.length <= MAX_KEY) return name;
  const hash = createHash2("sha256").update(name).digest("hex").slice(0, 8);
  return `${letters.slice(0, MAX_KEY - 9).join("")}-${hash}`;
}
function credentials(token2) {
  return token2.includes(":") ? `Basic ${Buffer.from(token2).toString("base64")}` : `Bearer ${token2}`;
}
function content(body) {
  return { json: { content: { raw: body } } };
}

// src/forges/forks.ts
var FROM_A_FORK = {
  github: "Post the comment from a second workflow (`on: workflow_run`), or set PRSHOTS_FORGE_TOKEN to a bot's token where forks get secrets. Avoid `on: pull_request_target`: its token can write, but the fork's code gets it too",
  gitlab: "Have a member start the merge request's pipeline in this project, after a look at what it runs. Then it gets the project's variables",
  gitea: "Post the comment with a bot's token in PRSHOTS_FORGE_TOKEN, from a job that does not run the fork's code",
  bitbucket: "Start the pipeline manually in this repository: the fork's own pipeline gets none of its variables"
};
function withForkAdvice(error, job) {
  const words2 = forkAdvice(job);
  return words2 ? new ForgeError(`${words2} (${error.message})`) : error;
}
function forkAdvice(job) {
  if (!job.fromFork || !job.forge) return "";
  return message("from_a_fork", { advice: FROM_A_FORK[job.forge] });
}

// src/forges/pull_requests.ts
function withHead(entries, repository2, headSha) {
  const found = entries.filter(
    (pull) => textAt(pull, "head", "sha") === headSha && textAt(pull, "base", "repo", "full_name").toLowerCase() === repository2.toLowerCase()
  ).map(readPull);
  return [...new Map(found.map((pull) => [pull.number, pull])).values()];
}
async function pullRequestAt(api, repository2, prNumber2) {
  return readPull(await api.call("GET", `/repos/${repository2}/pulls/${prNumber2}`));
}
function readPull(pull) {
  return {
    number: prNumber(pull?.number),
    isOpen: textAt(pull, "state") === "open",
    headSha: commit(textAt(pull, "head", "sha")),
    targetBranch: branch(textAt(pull, "base", "ref"))
  };
}
async function mergeOf(api, repository2, prNumber2) {
  const found = await api.call("GET", `/repos/${repository2}/pulls/${prNumber2}`);
  const isMerged = found?.merged === true;
  return isMerged ? mergeAt(textAt(found, "merge_commit_sha"), textAt(found, "base", "ref")) : void 0;
}

// src/forges/gitea.ts
var NEEDS2 = "Gitea and Forgejo take the token of Actions where it may write, or an access token with the scopes write:issue and read:user, and write:repository for commit statuses";
var Gitea = class {
  label = "Gitea";
  maxCommentBytes = 1e6;
  // Gitea has no limit
  markerStyle = "html";
  #api;
  #repository;
  #issues;
  constructor({ api, repository: repository2, token: token2, sender }) {
    this.#api = new ForgeApi(this.label, api, { Authorization: `token ${token2}` }, sender, NEEDS2);
    this.#repository = repository2;
    this.#issues = `/repos/${repository2}/issues`;
  }
  /** The Actions token can ask. Guessing isn't safe: writers can change other people's comments. */
  async me() {
    return textAt(await this.#api.call("GET", "/user"), "login") || void 0;
  }
  async comments(prNumber2) {
    const entries = await this.#api.entries(`${this.#issues}/${prNumber2}/comments`, {});
    return entries.map((entry) => this.#comment(entry));
  }
  async create(prNumber2, body) {
    const path4 = `${this.#issues}/${prNumber2}/comments`;
    return this.#comment(await this.#api.call("POST", path4, { json: { body } }));
  }
  async update(_prNumber, id, body) {
    await this.#api.call("PATCH", `${this.#issues}/comments/${id}`, { json: { body } });
  }
  delete(_prNumber, id) {
    return this.#api.remove(`${this.#issues}/comments/${id}`);
  }
  setStatus(commitSha, status) {
    const path4 = `/repos/${this.#repository}/statuses/${commitSha}`;
    return this.#api.postStatus(path4, statusFields(status), status.context);
  }
  /** As an issue, the pull request has the same scope as its comments. */
  async description(prNumber2) {
    return textAt(await this.#api.call("GET", `${this.#issues}/${prNumber2}`), "body");
  }
  async setDescription(prNumber2, body) {
    await this.#api.call("PATCH", `${this.#issues}/${prNumber2}`, { json: { body } });
  }
  /** Gitea has no list by commit. */
  async pullRequestsWithHead(headSha) {
    const path4 = `/repos/${this.#repository}/pulls`;
    const entries = await this.#api.entries(path4, { state: "open", limit: "50" });
    return withHead(entries, this.#repository, headSha);
  }
  pullRequest(prNumber2) {
    return pullRequestAt(this.#api, this.#repository, prNumber2);
  }
  mergeOf(prNumber2) {
    return mergeOf(this.#api, this.#repository, prNumber2);
  }
  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;
  #comment(entry) {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "body"),
      author: textAt(entry, "user", "login"),
      url: textAt(entry, "html_url")
    });
  }
};

// src/forges/github.ts
var NEEDS3 = "In GitHub Actions the job needs `permissions: pull-requests: write` for the comment and `statuses: write` for the commit status; elsewhere, use a token that may write pull requests and commit statuses of this repository";
var MAX_DESCRIPTION = 140;
var PURGE_SECONDS = 5;
var GitHub = class {
  label = "GitHub";
  maxCommentBytes = 65536;
  markerStyle = "html";
  #api;
  #graphql;
  #repository;
  #issues;
  constructor({ api, repository: repository2, token: token2, sender }) {
    const headers = {
      Authorization: `Bearer ${token2}`,
      Accept: "application/vnd.github+json",
      "X-GitHub-Api-Version": "2022-11-28"
    };
    this.#api = new ForgeApi(this.label, api, headers, sender, NEEDS3);
    this.#graphql = `${api.replace(/\/v3$/, "")}/graphql`;
    this.#repository = repository2;
    this.#issues = `/repos/${repository2}/issues`;
  }
  /** Only GraphQL gives an app or a workflow its login. */
  async me() {
    const query = { query: "query { viewer { login } }" };
    const viewer = parseJson((await this.#api.reply("POST", this.#graphql, { json: query })).text);
    const login = textAt(viewer, "data", "viewer", "login");
    return login || textAt(parseJson((await this.#api.reply("GET", "/user")).text), "login");
  }
  async comments(prNumber2) {
    const path4 = `${this.#issues}/${prNumber2}/comments`;
    const entries = await this.#inPullRequest(prNumber2, () => this.#api.entries(path4, { per_page: "100" }));
    return entries.map((entry) => this.#comment(entry));
  }
  async create(prNumber2, body) {
    const path4 = `${this.#issues}/${prNumber2}/comments`;
    return this.#comment(await this.#inPullRequest(prNumber2, () => this.#sendOnce("POST", path4, body)));
  }
  async update(_prNumber, id, body) {
    await this.#sendOnce("PATCH", `${this.#issues}/comments/${id}`, body);
  }
  delete(_prNumber, id) {
    return this.#api.remove(`${this.#issues}/comments/${id}`);
  }
  setStatus(commitSha, status) {
    const path4 = `/repos/${this.#repository}/statuses/${commitSha}`;
    return this.#api.postStatus(path4, statusFields(status, MAX_DESCRIPTION), status.context);
  }
  async description(prNumber2) {
    return textAt(await this.#api.call("GET", `/repos/${this.#repository}/pulls/${prNumber2}`), "body");
  }
  async setDescription(prNumber2, body) {
    await this.#api.call("PATCH", `/repos/${this.#repository}/pulls/${prNumber2}`, { json: { body } });
  }
  async pullRequestsWithHead(headSha) {
    const path4 = `/repos/${this.#repository}/commits/${headSha}/pulls`;
    const entries = await this.#api.entries(path4, { per_page: "100" });
    return withHead(entries, this.#repository, headSha);
  }
  pullRequest(prNumber2) {
    return pullRequestAt(this.#api, this.#repository, prNumber2);
  }
  mergeOf(prNumber2) {
    return mergeOf(this.#api, this.#repository, prNumber2);
  }
  async proxiedImages(id) {
    const headers = { Accept: "application/vnd.github.full+json" };
    const rendered = await this.#api.call("GET", `${this.#issues}/comments/${id}`, { headers });
    return proxiedIn(textAt(rendered, "body_html"));
  }
  /** Ask the image proxy, without our token: the proxy is not the API. */
  async purge(url) {
    const signal = AbortSignal.timeout(PURGE_SECONDS * 1e3);
    try {
      return (await fetch(url, { method: "PURGE", redirect: "manual", signal })).ok;
    } catch {
      return false;
    }
  }
  async #sendOnce(method, path4, body) {
    const reply = await this.#api.reply(method, path4, { json: { body } });
    if (reply.status === 403 && errorMessage(reply).includes("locked"))
      throw new ForgeError(`GitHub takes no comment: ${errorMessage(reply)} Unlock the conversation`);
    if (reply.status === 422)
      throw new ForgeError(message("forge_rejects_comment", { forge: this.label, why: errorMessage(reply) }));
    return this.#api.value(reply);
  }
  async #inPullRequest(prNumber2, call) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ForgeError(
        `GitHub shows this token no pull request ${prNumber2} in ${this.#repository}: it does not exist, or the repository is private and the token has no access`
      );
    }
  }
  #comment(entry) {
    return this.#api.checked({
      id: textAt(entry, "id"),
      body: textAt(entry, "body"),
      author: textAt(entry, "user", "login"),
      url: textAt(entry, "html_url"),
      byStranger: isByStranger(entry)
    });
  }
};
function isByStranger(entry) {
  const isBot = textAt(entry, "user", "type") === "Bot" || textAt(entry, "user", "login").endsWith("[bot]");
  return !isBot && !["", "OWNER", "MEMBER", "COLLABORATOR"].includes(textAt(entry, "author_association"));
}
function proxiedIn(html) {
  const tags = html.match(/<img\b(?:"[^"]*"|'[^']*'|[^>"'])*>/gi) ?? [];
  return tags.filter((tag) => attribute(tag, "data-canonical-src")).map((tag) => attribute(tag, "src")).filter((address2) => /^https?:\/\//.test(address2));
}
function attribute(tag, name) {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i").exec(tag);
  const entities = { amp: "&", quot: '"', "#39": "'", lt: "<", gt: ">" };
  return (found?.[1] ?? found?.[2] ?? "").replace(
    /&(amp|quot|#39|lt|gt);/g,
    (_, entity) => entities[entity] ?? ""
  );
}

// src/forges/gitlab.ts
var NEEDS4 = "GitLab takes a project, group or personal access token with the scope api and at least the role Reporter, or Developer for commit statuses; the job's own CI_JOB_TOKEN may write neither notes nor commit statuses";
var TRIES2 = 5;
var GitLab = class {
  label = "GitLab";
  maxCommentBytes = 1e6;
  markerStyle = "html";
  #api;
  #repository;
  #mergeRequests;
  #statuses;
  #pages = /* @__PURE__ */ new Map();
  constructor({ api, repository: repository2, token: token2, sender }) {
    this.#api = new ForgeApi(this.label, api, { Authorization: `Bearer ${token2}` }, sender, NEEDS4);
    this.#repository = repository2;
    this.#mergeRequests = `/projects/${encodeURIComponent(repository2)}/merge_requests`;
    this.#statuses = `/projects/${encodeURIComponent(repository2)}/statuses`;
  }
  async me() {
    return textAt(await this.#api.call("GET", "/user"), "username") || void 0;
  }
  async comments(prNumber2) {
    const asked = { sort: "asc", order_by: "created_at", per_page: "100" };
    const notes = await this.#api.entries(this.#notes(prNumber2), asked);
    const people = notes.filter((note) => !note.system);
    return people.length ? this.#comments(prNumber2, people) : [];
  }
  async create(prNumber2, body) {
    await this.#pageOf(prNumber2);
    const made = await this.#api.call("POST", this.#notes(prNumber2), { json: { body } });
    const [comment2] = await this.#comments(prNumber2, [made]);
    return comment2;
  }
  async update(prNumber2, id, body) {
    await this.#api.call("PUT", `${this.#notes(prNumber2)}/${id}`, { json: { body } });
  }
  delete(prNumber2, id) {
    return this.#api.remove(`${this.#notes(prNumber2)}/${id}`);
  }
  async setStatus(commitSha, status) {
    const path4 = `${this.#statuses}/${commitSha}`;
    const fields = { ...statusFields(status), state: status.state === "failure" ? "failed" : status.state };
    for (let triesLeft = TRIES2 - 1; ; triesLeft--) {
      try {
        return await this.#api.postStatus(path4, fields, status.context);
      } catch (error) {
        if (!(error instanceof ForgeError)) throw error;
        if (!triesLeft || !error.message.includes("Cannot transition"))
          throw this.#explain(error, status.context);
      }
      await this.#api.postStatus(path4, { ...fields, state: "canceled" }, status.context);
    }
  }
  async description(prNumber2) {
    return textAt(await this.#api.call("GET", `${this.#mergeRequests}/${prNumber2}`), "description");
  }
  async setDescription(prNumber2, description) {
    await this.#api.call("PUT", `${this.#mergeRequests}/${prNumber2}`, { json: { description } });
  }
  #explain(error, name) {
    if (error.message.includes("References for commit"))
      return new ForgeRefusedError(message("gitlab_has_no_pipeline", { project: this.#repository }));
    if (error.message.includes("already been taken"))
      return new ForgeError(message("gitlab_job_has_status_name", { name }));
    return error;
  }
  async mergeOf(prNumber2) {
    const found = await this.#api.call("GET", `${this.#mergeRequests}/${prNumber2}`);
    if (textAt(found, "state") !== "merged") return void 0;
    const names = ["merge_commit_sha", "squash_commit_sha", "sha"];
    const sha = names.map((name) => textAt(found, name)).find(Boolean) ?? "";
    return mergeAt(sha, textAt(found, "target_branch"));
  }
  proxiedImages = NO_PROXY.proxiedImages;
  purge = NO_PROXY.purge;
  #notes(prNumber2) {
    return `${this.#mergeRequests}/${prNumber2}/notes`;
  }
  async #comments(prNumber2, notes) {
    const page = await this.#pageOf(prNumber2);
    return notes.map(
      (note) => this.#api.checked({
        id: textAt(note, "id"),
        body: textAt(note, "body"),
        author: textAt(note, "author", "username"),
        url: `${page}#note_${textAt(note, "id")}`
      })
    );
  }
  /** Return the merge request's address for people, which no note has. */
  async #pageOf(prNumber2) {
    const known = this.#pages.get(prNumber2);
    if (known !== void 0) return known;
    const page = textAt(await this.#api.call("GET", `${this.#mergeRequests}/${prNumber2}`), "web_url");
    this.#pages.set(prNumber2, page);
    return page;
  }
};

// src/forges/index.ts
var KINDS = {
  github: { label: "GitHub", open: (access) => new GitHub(access) },
  gitlab: { label: "GitLab", open: (access) => new GitLab(access) },
  gitea: { label: "Gitea", open: (access) => new Gitea(access) },
  bitbucket: { label: "Bitbucket", open: (access) => new Bitbucket(access) }
};
function forgeOf(job, sender) {
  if (!job.forge)
    throw new InvalidInputError(`no forge detected: set ${called("--forge")} to one of ${FORGES.join(", ")}`);
  const { label, open: open3 } = KINDS[job.forge];
  if (!job.repository)
    throw new InvalidInputError(
      `no ${label} repository detected: set ${called("--repository")}, such as owner/name`
    );
  if (!URL.canParse(job.forgeApi))
    throw new InvalidInputError(
      `no ${label} address detected: set ${called("--forge-url")} to the root of its API`
    );
  if (!job.forgeToken)
    throw new InvalidInputError(`no token for ${label}: set ${called("--forge-token")}${tokenAdvice(job)}`);
  const problem = whyNoToken(job);
  if (problem) throw new InvalidInputError(problem);
  return open3({ api: job.forgeApi, repository: job.repository, token: job.forgeToken, sender });
}
function tokenAdvice(job) {
  const forFork = forkAdvice(job);
  if (forFork) return `. ${forFork}`;
  if (job.forge !== "github" && job.forge !== "gitea") return "";
  const { label } = KINDS[job.forge];
  return `; in ${label} Actions, set env: GITHUB_TOKEN: \${{ github.token }} in the step`;
}

// src/lookup.ts
async function askForge(job, given, sender, { needsCommit }) {
  const known = given === void 0 ? await withPullRequest(job, sender) : job;
  const prNumber2 = given ?? known.prNumber;
  return needsCommit && prNumber2 !== void 0 ? withHead2(known, prNumber2, sender) : known;
}
function refuseClosed({ closed, alreadyClosed, prNumber: prNumber2 }, number) {
  if ((closed || alreadyClosed) && number === prNumber2)
    throw new ClosedPullRequestError(message("pull_request_closed", { number: String(number) }));
}
async function withPullRequest(job, sender) {
  if (job.prNumber !== void 0 || !job.lookup) return job;
  const missing = message("no_pull_request_in_event", { commit: job.commitSha.slice(0, 7) });
  const advice2 = message("set_pull_request");
  const found = await answerOf(
    job,
    sender,
    missing,
    advice2,
    (forge) => forge.pullRequestsWithHead(job.commitSha)
  );
  const open3 = found.filter(({ isOpen }) => isOpen);
  if (open3.length > 1) {
    const numbers = open3.map(({ number = 0 }) => number).sort((a, b) => a - b);
    throw new InvalidInputError(message("head_of_several", { missing, numbers: numbers.join(", "), advice: advice2 }));
  }
  if (!found.length && job.lookup === "pull_request")
    throw new InvalidInputError(message("head_of_none", { missing, advice: advice2 }));
  const pull = open3[0] ?? (job.lookup === "pull_request" ? found.at(-1) : void 0);
  return pull ? withFacts(job, pull) : { ...job, lookup: void 0 };
}
async function withHead2(job, prNumber2, sender) {
  if (job.lookup !== "head") return job;
  const missing = message("no_head_in_event", { number: prNumber2 });
  const advice2 = message("set_commit");
  const pull = await answerOf(job, sender, missing, advice2, (forge) => forge.pullRequest(prNumber2));
  if (!pull.headSha) throw new InvalidInputError(message("head_not_reported", { missing, advice: advice2 }));
  return withFacts(job, { ...pull, number: prNumber2 });
}
function withFacts(job, { number, isOpen, headSha, targetBranch }) {
  return {
    ...job,
    prNumber: number,
    commitSha: headSha,
    targetBranch,
    alreadyClosed: !isOpen,
    lookup: void 0
  };
}
async function commitOf(job) {
  const commit2 = job.commitSha || await headCommit();
  if (!commit2)
    throw new InvalidInputError(
      `no commit: the CI does not name one and not in a git repository. Set ${called("--commit")}`
    );
  return commit2;
}
async function answerOf(job, sender, missing, advice2, question) {
  try {
    return await question(forgeOf(job, sender));
  } catch (error) {
    const kind = error instanceof CallError ? CallError : InvalidInputError;
    throw new kind(message("cannot_ask_forge", { missing, why: messageOf(error), advice: advice2 }));
  }
}

// src/action/forks.ts
var FORKS = "https://github.com/prshots/prshots/blob/main/docs/use/ci.md#forks";
var CREDENTIALS = ["PRSHOTS_TOKEN", "PRSHOTS_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"];
function withoutSecrets(job, environ) {
  if (job.fromFork && environ.GITHUB_EVENT_NAME === "pull_request")
    return "the pull request comes from a fork";
  if (environ.GITHUB_ACTOR === "dependabot[bot]") return "Dependabot opened the pull request";
  return "";
}
function hasCredentials(environ) {
  return CREDENTIALS.some((name) => environ[name]);
}

// src/compare.ts
import { setTimeout as pause3 } from "node:timers/promises";

// src/ci/base_commits.ts
var MAX_BASE_COMMITS = 200;
var ENOUGH_COMMITS = 50;
var DEPTHS = [ENOUGH_COMMITS, 4 * ENOUGH_COMMITS, 20 * ENOUGH_COMMITS];
async function baseOf(job, commitSha, branch2, say) {
  const target = branch2 || job.targetBranch || await defaultBranch(job);
  const head = await fullCommit2(commitSha);
  const start = await mergeTarget(head) || (commitSha === job.commitSha ? job.baseSha : "");
  if (start && (!branch2 || branch2 === job.targetBranch))
    return { branch: target, commits: await historyFrom(start, target, say), unknown: "" };
  const unknown = (why) => ({ branch: target, commits: [], unknown: why });
  const { error } = await git("rev-parse", "--git-dir");
  if (error) return unknown(error);
  if (!head) return unknown(message("commit_not_in_checkout", { commit: commitSha }));
  return commitsSinceForkPoint(target, head, say);
}
async function mergeTarget(head) {
  const [headers = ""] = (await git("cat-file", "commit", "HEAD")).output.split("\n\n", 1);
  const parents = Array.from(headers.matchAll(/^parent ([0-9a-f]{40})$/gm), ([, sha = ""]) => sha);
  const [onto = "", merged] = parents;
  return parents.length === 2 && head !== "" && merged === head ? onto : "";
}
async function historyFrom(start, target, say) {
  let found = await firstParents(start);
  const shallow = await isShallow();
  if (!found.length || shallow && found.length < ENOUGH_COMMITS) {
    const depth = shallow ? ENOUGH_COMMITS : 0;
    if ((await fetchFrom(start, depth, say, target)).error)
      await fetchFrom(await refspecOf(target), depth, say, target);
    found = await firstParents(start);
  }
  return found.length ? found : [start];
}
async function commitsSinceForkPoint(target, head, say) {
  let commits = [];
  let problem = "";
  for (const depth of await isShallow() ? DEPTHS : [0]) {
    problem = await fetchBranches(target, head, depth, say);
    commits = await firstParents(await mergeBase(target, head));
    if (problem || commits.length >= ENOUGH_COMMITS || !await isShallow()) break;
  }
  if (problem && commits.length) say(message("could_not_fetch", { branch: target, why: problem }));
  const nothingShared = message("no_shared_commit", { branch: target, commit: head.slice(0, 7) });
  return { branch: target, commits, unknown: commits.length ? "" : problem || nothingShared };
}
async function fetchBranches(target, head, depth, say) {
  const { error } = await fetchFrom(await refspecOf(target), depth, say, target);
  if (!error && (depth || !await commitAt(head))) await fetchFrom(head, depth, say, head.slice(0, 7));
  return error;
}
async function mergeBase(target, head) {
  const tip = await commitAt(await trackingRef(target)) || await commitAt(`refs/heads/${target}`);
  return tip ? (await git("merge-base", "--end-of-options", tip, head)).output.trim() : "";
}
async function firstParents(start) {
  if (!start) return [];
  const limit = `--max-count=${MAX_BASE_COMMITS}`;
  const listed = await git("rev-list", "--first-parent", limit, "--end-of-options", start, "--");
  return listed.output.split("\n").filter(Boolean);
}
async function refspecOf(target) {
  return `+refs/heads/${target}:${await trackingRef(target)}`;
}
async function trackingRef(target) {
  return `refs/remotes/${await remoteName() || "origin"}/${target}`;
}

// src/ci/merge_queue.ts
var MAX_QUEUED_PULLS = 50;
var QUEUES = {
  github: ["refs/heads/gh-readonly-queue/*", QUEUE_REF],
  gitlab: ["refs/merge-requests/*/train", /^refs\/merge-requests\/([1-9][0-9]*)\/train$/]
};
async function queuedPulls(job, baseCommits, say) {
  const queue = job.inQueue && job.forge && QUEUES[job.forge];
  if (!queue) return [];
  const [pattern, form] = queue;
  const { output, error } = await remoteRefs(pattern);
  if (error) say(message("queue_unknown", { why: error }));
  const numbers = output.split("\n").flatMap((line) => {
    const [commit2 = "", ref = ""] = line.split("	");
    const number = baseCommits.includes(commit2) ? prNumber(form.exec(ref)?.[1]) : void 0;
    return number && number !== job.prNumber ? [number] : [];
  });
  return [...new Set(numbers)].sort((one, other) => one - other).slice(-MAX_QUEUED_PULLS);
}

// src/compare.ts
var WAIT_SECONDS = 600;
var POLL_SECONDS = 1;
var TELL_SECONDS = 10;
async function compareWithBase(service, job, { prNumber: prNumber2, commitSha, branch: branch2, complete }, say) {
  const base = await baseOf(job, commitSha, branch2, say);
  const queued = await queuedPulls(job, base.commits, say);
  let found = await service.compare(prNumber2, commitSha, base, complete, queued);
  const started = Date.now();
  let told = started;
  while (found.state === "running") {
    const now = Date.now();
    const seconds = Math.round((now - started) / 1e3);
    if (now > started + WAIT_SECONDS * 1e3 || service.secondsLeft < POLL_SECONDS)
      throw new CallError(message("still_running", { seconds }));
    if (now >= told + TELL_SECONDS * 1e3) {
      told = now;
      say(message("still_comparing", { seconds }));
    }
    await pause3(POLL_SECONDS * 1e3);
    const latest = await service.comparison(prNumber2);
    if (latest?.commitSha !== found.commitSha) {
      const other = latest ? `commit ${latest.commitSha.slice(0, 7)}` : "none";
      throw new CallError(message("comparison_replaced", { commit: commitSha.slice(0, 7), other }));
    }
    found = latest;
  }
  if (base.unknown && found.state !== "no_baseline")
    say(message("base_unknown", { commit: commitSha.slice(0, 7), why: base.unknown, branch: base.branch }));
  return found;
}
async function describe(service, prNumber2, job) {
  const about = {
    repository: job.repositoryUrl,
    url: pullRequestPage(job.forge, job.repositoryUrl, prNumber2),
    // What CI says about its own pull request says nothing about another one.
    ...prNumber2 === job.prNumber && {
      title: job.title,
      source_branch: job.sourceBranch,
      author: job.author
    }
  };
  try {
    const known = Object.entries(about).filter(([, text2]) => text2);
    return await service.describe(prNumber2, Object.fromEntries(known));
  } catch (error) {
    if (error instanceof InvalidInputError) return "";
    throw error;
  }
}
async function viewAndPage(service, prNumber2, job) {
  const found = await service.comparison(prNumber2);
  if (found) return { view: "changes", dashboardUrl: found.dashboardUrl };
  try {
    return { view: "latest", dashboardUrl: await describe(service, prNumber2, job) };
  } catch (error) {
    if (error instanceof NotFoundError) return { view: "latest", dashboardUrl: "" };
    throw error;
  }
}
function summary({ state, branch: branch2, baseCommit, counts, pairs }) {
  if (state === "no_baseline") return message("no_baselines", { branch: branch2 });
  if (state === "failed") return message("comparison_failed", { branch: branch2 });
  const base = baseCommit ? message("base_at", { branch: branch2, commit: baseCommit.slice(0, 7) }) : branch2;
  const sums = VERDICTS.filter((verdict) => counts[verdict]).map(
    (verdict) => `${formatNumber(counts[verdict] ?? 0)} ${verdict}`
  );
  const found = sums.join(", ") || message("no_screenshots");
  const shots = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const own = message(pairs === 1 ? "own_before_image" : "own_before_images");
  const ofPairs = pairs ? message("pairs_with_own", { pairs: formatNumber(pairs), own }) : "";
  const words2 = pairs && pairs === shots ? message("compared_with_own", { own, counts: found }) : message("compared", { base, counts: found, pairs: ofPairs });
  if (state !== "incomplete") return words2;
  if (pairs && !baseCommit) return message("others_not_compared", { summary: words2, branch: branch2 });
  return message("incomplete", { summary: words2 });
}

// src/target.ts
async function targetOf(job, asked) {
  const { pr, commit: commit2, branch: branch2, baseline = false } = asked;
  if (!baseline && (pr !== void 0 || !await buildsBaselines(job, branch2))) {
    const prNumber2 = pullRequest(pr, job);
    refuseClosed(job, prNumber2);
    return { commitSha: commit2 || await commitOf(job), prNumber: prNumber2 };
  }
  if (pr !== void 0 || job.prNumber !== void 0 || job.lookup || job.fromFork)
    throw new InvalidInputError(message("baseline_in_pull_request"));
  const baselineOf = branch2 || await branchForBaselines(job);
  if (!baselineOf) throw new InvalidInputError(message("no_baseline_branch"));
  return { commitSha: await baselineCommit(commit2 || job.commitSha), baselineOf };
}
function pullRequest(given, job) {
  const found = given ?? job.prNumber;
  if (found !== void 0) return found;
  const why = job.ci ? message("job_without_pull_request", { ci: job.ci }) : message("no_ci");
  throw new InvalidInputError(message("no_pull_request", { why }));
}
async function baselineCommit(given) {
  const sha = given || await headCommit();
  const found = sha && await fullCommit2(sha);
  if (found) return found;
  const why = sha ? message("unknown_commit", { sha }) : message("no_commit_named");
  throw new InvalidInputError(message("no_baseline_commit", { why }));
}
function describeTarget({ prNumber: prNumber2, baselineOf }) {
  if (baselineOf) return message("baselines_of", { branch: baselineOf });
  return message("pull_request", { number: prNumber2 ?? "?" });
}

// src/commands/compare.ts
var GATES = VERDICTS.filter((verdict) => verdict !== "unchanged");
var PASSING = ["approved", "quarantined", "seen_before"];
var ComparisonFailedError = class extends CallError {
  constructor(comparison, words2 = summary(comparison)) {
    super(words2);
    this.comparison = comparison;
  }
  comparison;
  name = "ComparisonFailedError";
};
async function compare(options, context) {
  const { environ, say, fail = say } = context;
  const failOn = parseVerdicts(options.failOn ?? "");
  const asked = {
    pr: prIn(options, environ),
    commit: commitIn(options, environ),
    branch: branchIn2(options, environ)
  };
  const needs = { needsCommit: !asked.commit };
  const job = await askForge(jobOf(context), asked.pr, senderOf(context), needs);
  if (job.hasFailed) say(message("run_has_failed"));
  const target = await targetOf(job, asked);
  const service = connect(options, context);
  const { prNumber: prNumber2, commitSha, baselineOf = "" } = target;
  const complete = (options.complete ?? false) && !job.hasFailed;
  if (prNumber2 === void 0) {
    if (complete) await service.completeBaselines(baselineOf, commitSha);
    const about = { target: describeTarget(target), commit: commitSha.slice(0, 7) };
    say(message(complete ? "baselines_complete" : "nothing_to_compare", about));
    return { dashboardUrl: "", gated: 0, exitCode: 0 };
  }
  const compared2 = { prNumber: prNumber2, commitSha, branch: asked.branch, complete };
  const comparison = await compareWithBase(service, job, compared2, say);
  for (const shot of comparison.shots) if (shot.verdict === "failed") fail(failureOf(shot));
  if (comparison.state === "failed") throw new ComparisonFailedError(comparison);
  say(summary(comparison));
  const passing = options.approvedPass ? PASSING : [];
  const gated = failOn.length ? countGated(comparison, failOn, passing, fail) : 0;
  return { comparison, dashboardUrl: comparison.dashboardUrl, gated, exitCode: gated ? EXIT_CODES.gated : 0 };
}
function countGated(comparison, failOn, passing, fail) {
  const { state, shots, commitSha } = comparison;
  const verdicts = failOn.join(",");
  const gated = shots.filter(
    ({ verdict, review }) => failOn.includes(verdict) && !passing.includes(review)
  ).length;
  if (gated) fail(message("gated", { shots: pluralize(gated, "shot"), verdicts }));
  else if (state !== "no_baseline" && shots.every(({ verdict }) => verdict === "removed"))
    throw new ComparisonFailedError(
      comparison,
      message("nothing_gated", { verdicts, commit: commitSha.slice(0, 7) })
    );
  return gated;
}
function parseVerdicts(given) {
  const names = given.trim() ? given.split(",").map((name) => name.trim()) : [];
  const unknown = names.find((name) => !GATES.includes(name));
  if (unknown !== void 0) {
    const rule = message("verdicts_rule", { verdicts: GATES.join(", ") });
    throw new InvalidInputError(`${called("--fail-on")} is invalid: got ${quote(unknown)}; use ${rule}`);
  }
  return names;
}
function failureOf({ name, viewport, theme, reason }) {
  const which = [name, viewport, theme].filter(Boolean).join(" ");
  return message("shot_not_compared", { shot: which, reason: reason && `: ${reason}` });
}

// src/action/inputs.ts
var VARIABLES3 = {
  url: "PRSHOTS_URL",
  token: "PRSHOTS_TOKEN",
  project: "PRSHOTS_PROJECT",
  "pr-number": "PRSHOTS_PR",
  commit: "PRSHOTS_COMMIT",
  branch: "PRSHOTS_BRANCH",
  timeout: "PRSHOTS_TIMEOUT",
  "github-token": "GITHUB_TOKEN"
};
var INPUTS = {
  ...Object.fromEntries(
    Object.entries(VARIABLES3).map(([input, variable]) => [variable, `the input \`${input}\``])
  ),
  PRSHOTS_FORGE_TOKEN: "the input `github-token`",
  "--allow-empty": "the input `allow-empty`",
  "--fail-on": "the input `fail-on`",
  "--shrink": "the input `shrink`",
  "prshots compare --complete": "this action with `complete: true`"
};
function inputFor(name, variable) {
  return INPUTS[variable || name] ?? (variable || name);
}

// src/action/runner.ts
import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";

// src/redaction.ts
var SHORTEST_SECRET = 8;
function secretsOf(options, environ) {
  const ofJob = Object.keys(environ).filter((name) => name.endsWith("_TOKEN"));
  const given = [options.token, options.forgeToken, ...ofJob.map((name) => environ[name])];
  return given.map((token2) => token2?.trim() ?? "").filter((token2) => token2.length >= SHORTEST_SECRET);
}
function redact(text2, secrets) {
  return secrets.reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text2).replace(/msr_\w+/g, "msr_[hidden]");
}

// src/action/runner.ts
function textInput(environ, name) {
  return (environ[`INPUT_${name.toUpperCase()}`] ?? "").trim();
}
function flagInput(environ, name, fallback = false) {
  const given = textInput(environ, name).toLowerCase();
  if (given === "") return fallback;
  if (given !== "true" && given !== "false")
    throw new InvalidInputError(`The input \`${name}\` must be true or false; got '${given.slice(0, 60)}'.`);
  return given === "true";
}
function linesInput(environ, name) {
  return textInput(environ, name).split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
}
var Runner = class {
  constructor(environ, print = (text2) => process.stdout.write(text2)) {
    this.environ = environ;
    this.print = print;
  }
  environ;
  print;
  /** Print an annotation for the workflow's page. */
  annotate(level, words2) {
    this.print(`::${level} title=prshots::${escapeCommand(this.#shown(words2))}
`);
  }
  /** Hide a secret in the job's log. */
  mask(secret) {
    if (secret) this.print(`::add-mask::${escapeCommand(secret)}
`);
  }
  /**
   * Print messages while `work` runs. The runner does not interpret them as commands: they contain file names, which the
   * author of the pull request chooses.
   */
  async withoutCommands(work) {
    const resume = randomBytes(16).toString("hex");
    this.print(`::stop-commands::${resume}
`);
    try {
      return await work((words2) => this.print(`${this.#shown(words2)}
`));
    } finally {
      this.print(`::${resume}::
`);
    }
  }
  /** Set an output to one line. */
  output(name, value) {
    this.outputs(`${name}=${value.split(/[\r\n]/)[0]}
`);
  }
  /** Set outputs, as lines of the file that the runner reads. */
  outputs(lines) {
    this.#append("GITHUB_OUTPUT", lines);
  }
  /** Older versions of Forgejo have no job summary. */
  get hasSummary() {
    return Boolean(this.environ.GITHUB_STEP_SUMMARY);
  }
  summarize(markdown) {
    this.#append("GITHUB_STEP_SUMMARY", markdown);
  }
  #shown(words2) {
    return printable(redact(words2, secretsOf({}, this.environ)));
  }
  #append(variable, text2) {
    const file = this.environ[variable];
    if (file) appendFileSync(file, text2);
  }
};
function escapeCommand(words2) {
  return words2.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

// src/action/settings.ts
function clientEnviron(environ) {
  const given = Object.entries(VARIABLES3).map(([name, variable]) => [variable, textInput(environ, name)]);
  return { ...environ, ...Object.fromEntries(given.filter(([, value]) => value)) };
}
function settingsOf(environ) {
  const text2 = (name) => textInput(environ, name);
  const flag = (name, fallback = false) => flagInput(environ, name, fallback);
  const hasFailed = ["failure", "cancelled"].includes(text2("job-status"));
  const settings = {
    paths: linesInput(environ, "paths"),
    branch: branchIn2({}, clientEnviron(environ)),
    compare: flag("compare", true),
    partial: flag("partial") || hasFailed,
    complete: flag("complete"),
    failOn: parseVerdicts(text2("fail-on")).join(","),
    approvedPass: flag("approved-pass"),
    gate: flag("gate"),
    gateSkip: text2("gate-skip"),
    view: viewIn(text2("view")),
    comment: flag("comment", true),
    template: text2("template"),
    shrink: flag("shrink"),
    allowEmpty: flag("allow-empty"),
    workingDirectory: text2("working-directory") || ".",
    hasFailed
  };
  const compared2 = settings.failOn ? "fail-on" : settings.gate && "gate: true";
  if (compared2 && !settings.compare)
    throw new InvalidInputError(
      `The inputs \`${compared2}\` and \`compare: false\` exclude each other: remove one of them.`
    );
  if (settings.complete && settings.paths.length)
    throw new InvalidInputError(
      "The inputs `paths` and `complete` exclude each other: each shard uploads with `partial: true`."
    );
  if (settings.gateSkip && (settings.paths.length || settings.complete))
    throw new InvalidInputError(
      "The input `gate-skip` excludes `paths` and `complete`: a run that it skips takes no screenshots."
    );
  return settings;
}
function viewIn(given) {
  const view = VIEWS.find((each) => each === given);
  if (given && !view)
    throw new InvalidInputError(
      `The input \`view\` must be one of ${VIEWS.join(", ")}; got '${given.slice(0, 60)}'.`
    );
  return view;
}

// src/sticky_comment.ts
var ROUNDS = 10;
var PROJECT = /^[^\n]*\n((?:<!-- |\[\/\/\]: # \()prshots:\S+)/;
var NOTICE = /^[^\n]*\n(?:(?:<!-- |\[\/\/\]: # \()prshots:[^\n]*\n)?(?:<!-- |\[\/\/\]: # \()svc:notice-(\d{1,15})\b/;
var INVISIBLE = /(?:(?:<!-- |\[\/\/\]: # \()[^\n]*\s*)+/;
var URLS = /https?:\/\/[^\s()<>"]+/g;
async function keepCurrent(forge, prNumber2, render, creating = () => true, isAlone = () => true) {
  const ours = new OurComments(forge, prNumber2);
  let posted = { outcome: "unchanged", url: "" };
  let written = "";
  for (let round = 0; round < ROUNDS; round++) {
    const found = await ours.find();
    const text2 = await render();
    const { comment: comment2, isOurs } = await ours.keepOne(found, text2, isAlone());
    let kept = comment2;
    if (kept && !isOurs) return { outcome: "kept", url: kept.url, isOlder: isOlder(kept.body, text2) };
    if ((!kept || noticeIn(text2) > noticeIn(kept.body)) && creating()) {
      kept = await ours.create(text2);
      posted = { outcome: "created", url: kept.url };
    } else if (!kept) {
      return { outcome: "none", url: "" };
    } else if (isSame(kept.body, text2) || written === JSON.stringify([kept.id, text2])) {
      return { outcome: posted.outcome, url: kept.url };
    } else if (await ours.update(kept, text2) && posted.outcome === "unchanged") {
      posted = { outcome: "updated", url: kept.url };
    }
    written = JSON.stringify([kept.id, text2]);
  }
  if (posted.outcome === "unchanged")
    throw new ForgeError(message("listed_but_gone", { forge: forge.label }));
  return posted;
}
function hasMarker({ body }, marker) {
  return withoutBlank(body).startsWith(marker);
}
var OurComments = class {
  constructor(forge, prNumber2) {
    this.forge = forge;
    this.prNumber = prNumber2;
  }
  forge;
  prNumber;
  #me;
  #made;
  #gone = /* @__PURE__ */ new Set();
  /** Return the comments with our marker, oldest first, whoever wrote them. */
  async find() {
    const marker = markerLine(this.forge.markerStyle, this.prNumber);
    const comments = await this.forge.comments(this.prNumber);
    const found = comments.filter((each) => hasMarker(each, marker));
    if (found.length && !this.#me) this.#me = await this.forge.me();
    const made = this.#made;
    if (made && !found.some(({ id }) => id === made.id)) found.push(made);
    return found;
  }
  /**
   * Return the project's comment, and whether it is ours. Delete our other ones: new notices, concurrent jobs and lost
   * replies create them.
   */
  async keepOne(all, text2, isAlone) {
    const found = all.filter((each) => isOfProject(each, text2, isAlone));
    const ours = found.filter((each) => this.#isOurs(each));
    let theirs = found.filter((each) => projectIn(each.body) && this.#isTheirs(each));
    if (this.#me === void 0 && ours.length) theirs = [];
    const either = found.filter((each) => ours.includes(each) || theirs.includes(each));
    const [kept] = either.sort((one, other) => noticeIn(other.body) - noticeIn(one.body));
    for (const { id } of this.#me ? ours.filter((each) => each !== kept) : []) {
      await this.forge.delete(this.prNumber, id);
      this.#gone.add(id);
    }
    return { comment: kept, isOurs: !kept || !theirs.includes(kept) };
  }
  async create(text2) {
    this.#made = await this.forge.create(this.prNumber, text2);
    this.#me = this.#made.author || this.#me;
    return this.#made;
  }
  /** Change the comment. Return false if it no longer exists or isn't ours. */
  async update({ id }, text2) {
    try {
      await this.forge.update(this.prNumber, id, text2);
      return true;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      this.#gone.add(id);
      return false;
    }
  }
  #isOurs({ id, author }) {
    const isByUs = this.#me === void 0 || id === this.#made?.id || this.#me !== "" && author === this.#me;
    return isByUs && !this.#gone.has(id);
  }
  /** Return whether another account keeps it current. A deleted account or a stranger doesn't. */
  #isTheirs({ id, author, byStranger = false }) {
    if (this.#me === void 0) return this.#gone.has(id);
    return this.#me !== "" && ![this.#me, ""].includes(author) && !byStranger;
  }
};
function isOfProject({ body }, text2, isAlone) {
  const [found, own] = [projectIn(body), projectIn(text2)];
  return found === own || !own || isAlone && !found;
}
function noticeIn(body) {
  return Number(NOTICE.exec(withoutBlank(body))?.[1] ?? 0);
}
function projectIn(body) {
  return PROJECT.exec(withoutBlank(body))?.[1] ?? "";
}
function withoutBlank(body) {
  return body.replace(/^[\ufeff \t\r\n]+/, "");
}
function normal(text2) {
  return text2.replaceAll("\r\n", "\n").trim();
}
function isSame(body, text2) {
  return normal(body) === normal(text2);
}
function isOlder(body, text2) {
  const [shown, current] = [body, text2].map((each) => normal(each).replace(URLS, ""));
  return !shown.includes(current.replace(INVISIBLE, "").trim());
}

// src/post_comment.ts
var IMAGES = [
  /^!\[.*\]\((https?:\/\/[^\s)]+)\)$/m,
  /\[!\[[^\]\n]*\]\((https?:\/\/[^\s)]+)\)\]\(/,
  /<a href="[^"]*"><img [^>]*src="(https?:\/\/[^"]+)"/
];
var Composer = class {
  constructor(service, prNumber2, job, how = {}) {
    this.service = service;
    this.prNumber = prNumber2;
    this.job = job;
    this.how = how;
  }
  service;
  prNumber;
  job;
  how;
  /** How many screenshots the last text is about. */
  count = 0;
  /** How many other projects take part in the pull request. */
  siblings = 0;
  /** Sentences for the user about the parts that the last text leaves out. */
  notes = [];
  /** Why readers may not see the images in the last text. Empty if nothing prevents it. */
  warning = "";
  /** Return the comment with its template, in markdown for any forge. */
  async markdown() {
    const { view, template } = this.how;
    return this.#fill(await this.service.comment(this.prNumber, MAX_COMMENT_BYTES, "html", view), template);
  }
  /** Return the comment in the markdown of this forge, no longer than the forge allows. */
  async textFor(forge) {
    this.notes = [];
    const { view = "all" } = this.how;
    const [template, room] = this.#templateFor(forge);
    const limit = Math.min(room, MAX_COMMENT_BYTES);
    const comment2 = await this.service.comment(this.prNumber, limit, forge.markerStyle, view);
    this.count = comment2.count;
    this.siblings = comment2.siblings;
    const withoutPicture = (view === "changes" ? 0 : comment2.listed) + comment2.omitted;
    if (withoutPicture)
      this.notes.push(
        message("without_image", { count: withoutPicture, total: comment2.count, limit: formatNumber(limit) })
      );
    this.warning = unreachableImages(comment2.markdown, this.job.forgeApi, forge.label);
    return this.#fill(comment2, template);
  }
  /** Return the template and how many bytes it leaves. Leaves out a template that is too long. */
  #templateFor(forge) {
    const { template } = this.how;
    if (!template) return [void 0, forge.maxCommentBytes];
    const marker = markerLine(forge.markerStyle, this.prNumber);
    const room = template.room(forge.maxCommentBytes, marker, this.#jobValues());
    if (room >= MIN_COMMENT_BYTES) return [template, room];
    this.notes.push(message("template_left_out", { forge: forge.label }));
    return [void 0, forge.maxCommentBytes];
  }
  #fill(comment2, template) {
    return template ? template.fill(comment2, this.#jobValues()) : comment2.markdown;
  }
  #jobValues() {
    return {
      pr_number: String(this.prNumber),
      commit: this.job.commitSha,
      run_url: this.job.runUrl,
      dashboard_url: this.how.dashboardUrl ?? ""
    };
  }
};
function unreachableImages(markdown, forgeApi, label) {
  const address2 = IMAGES.map((image) => image.exec(markdown)?.[1]).find(Boolean);
  if (address2 === void 0 || !kindOfPublicApi(forgeApi) || isPublic(address2)) return "";
  return message("unreachable_images", { forge: label, address: new URL(address2).origin });
}
async function post(forge, composer, creates = true) {
  const render = () => composer.textFor(forge);
  const creating = () => creates && composer.count > 0;
  try {
    const posted = await keepCurrent(forge, composer.prNumber, render, creating, () => !composer.siblings);
    if (posted.outcome === "kept")
      composer.notes = [message(posted.isOlder ? "comment_is_older" : "comment_kept_current")];
    return posted;
  } catch (error) {
    throw error instanceof ForgeRefusedError ? withForkAdvice(error, composer.job) : error;
  }
}

// src/templates.ts
import { open } from "node:fs/promises";

// src/file_search.ts
import { isUtf8 } from "node:buffer";
import { lstatSync, readdirSync, statSync as statSync2 } from "node:fs";
import path2 from "node:path";

// src/natural_order.ts
function byNumbers(one, other) {
  for (const [index, text2] of one.entries()) {
    const order = compared(text2, other[index] ?? "");
    if (order) return order;
  }
  return 0;
}
function compared(one, other) {
  const [parts, others] = [one.split(/([0-9]+)/), other.split(/([0-9]+)/)];
  for (const [index, part2] of parts.entries()) {
    const against = others[index];
    if (against === void 0) return 1;
    const order = index % 2 ? byValue(part2, against) : byCodePoint(part2, against);
    if (order) return order;
  }
  return parts.length - others.length;
}
function byValue(one, other) {
  const difference = BigInt(one) - BigInt(other);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
function byCodePoint(one, other) {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

// src/file_search.ts
var MAGIC = /[*?[]/;
function* findFiles(paths, isWanted, onProblem) {
  for (const given of paths) {
    const start = normal2(given);
    if (isFolder(given)) {
      for (const found of findMatches(start, ["**", "*"], onProblem))
        if (isWanted(found.path)) yield { ...found, folder: start || "." };
    } else if (isThere(given)) {
      yield { path: start, folder: "", isUnreadable: false };
    } else if (MAGIC.test(given)) yield* expandGlob(start, onProblem);
    else onProblem(given, message("no_such_path"), true);
  }
}
function* expandGlob(pattern, onProblem) {
  const parts = partsOf(pattern);
  const plain = parts.findIndex((part2) => MAGIC.test(part2));
  const folder = rootOf(pattern) + parts.slice(0, plain).join(path2.sep);
  if (isFolder(folder || ".")) yield* findMatches(folder, parts.slice(plain), onProblem);
}
function* findMatches(folder, pattern, onProblem) {
  const [first2 = "*", ...rest] = pattern;
  const entries = entriesOf(folder, onProblem);
  if (!entries) return;
  if (first2 === "**") yield* findMatches(folder, rest.length ? rest : ["*"], onProblem);
  const isMatch = first2 === "**" ? void 0 : matcher(first2);
  for (const entry of entries) {
    const at = join(folder, entry.name);
    if (entry.name.startsWith(".") && !first2.startsWith(".")) continue;
    if (!isMatch) {
      if (entry.isDirectory) yield* findMatches(at, pattern, onProblem);
    } else if (isMatch.test(entry.name)) {
      const isOne = entry.isDirectory || entry.isLink && isFolder(at);
      if (isOne && rest.length) yield* findMatches(at, rest, onProblem);
      else if (!isOne && !rest.length) yield { path: at, folder: "", isUnreadable: !entry.isText };
    }
  }
}
function entriesOf(folder, onProblem) {
  try {
    const found = readdirSync(folder || ".", { withFileTypes: true, encoding: "buffer" });
    return found.map((entry) => ({
      name: entry.name.toString("utf8"),
      isText: isUtf8(entry.name),
      isDirectory: entry.isDirectory(),
      isLink: entry.isSymbolicLink()
    })).sort((one, other) => byCodePoint(one.name, other.name));
  } catch (error) {
    onProblem(folder || ".", message("cannot_search", { why: reasonOf(error) }));
    return void 0;
  }
}
function reasonOf(error) {
  return messageOf(error).replace(/^[A-Z]+: /, "").replace(/, \w+( '.*')?$/s, "");
}
function matcher(pattern) {
  const literal = (text2) => text2.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const source = pattern.replace(/\[(!?)(\]?[^\]]*)\]|./gsu, (part2, not, set) => {
    if (set) return `[${not ? "^" : ""}${set.replace(/[\\\]^[]/g, "\\$&")}]`;
    return part2 === "*" ? ".*" : part2 === "?" ? "." : literal(part2);
  });
  try {
    return new RegExp(`^(?:${source})$`, process.platform === "win32" ? "sui" : "su");
  } catch {
    return /^(?!)/;
  }
}
function normal2(given) {
  return rootOf(given) + partsOf(given).join(path2.sep);
}
function partsOf(given) {
  const separators = path2.sep === "\\" ? /[\\/]/ : "/";
  return given.slice(rootOf(given).length).split(separators).filter((part2) => part2 && part2 !== ".");
}
function rootOf(given) {
  return path2.parse(given).root;
}
function join(folder, name) {
  return !folder || folder === "." ? name : folder.endsWith(path2.sep) ? folder + name : folder + path2.sep + name;
}
function isFolder(given) {
  try {
    return statSync2(given).isDirectory();
  } catch {
    return false;
  }
}
function isThere(given) {
  try {
    lstatSync(given);
    return true;
  } catch {
    return false;
  }
}

// src/templates.ts
var COMMENT_PLACES = ["screenshots", "heading", "entries", "count"];
var JOB_PLACES = ["pr_number", "commit", "run_url", "dashboard_url"];
var SCREENSHOT_PLACES = ["screenshots", "entries"];
var MAX_HEADING_BYTES = 200;
var MAX_COUNT_BYTES = 20;
var PLACE = /\{\{\s*(.*?)\s*\}\}/g;
var Template = class _Template {
  constructor(text2) {
    this.text = text2;
  }
  text;
  /** Read a template from a file. Throws InvalidInputError if the file is not a valid template. */
  static async read(path4) {
    const content2 = await contentOf(path4);
    if (content2.length > MAX_COMMENT_BYTES)
      throw new InvalidInputError(
        message("template_too_long", { file: path4, limit: formatNumber(MAX_COMMENT_BYTES) })
      );
    try {
      return _Template.of(new TextDecoder("utf-8", { fatal: true }).decode(content2), path4);
    } catch (error) {
      if (error instanceof InvalidInputError) throw error;
      throw new InvalidInputError(message("template_not_text", { file: path4 }));
    }
  }
  /** Check a text and return it as a template. `origin` names it in errors. Throws InvalidInputError. */
  static of(text2, origin) {
    const known = [...COMMENT_PLACES, ...JOB_PLACES];
    const places = placesIn(text2);
    const unknown = places.find((place) => !known.includes(place));
    if (unknown !== void 0)
      throw new InvalidInputError(
        message("template_unknown_placeholder", {
          file: origin,
          placeholder: `{{${unknown.slice(0, 60)}}}`,
          known: known.map((name) => `{{${name}}}`).join(", ")
        })
      );
    if (!places.some((place) => SCREENSHOT_PLACES.includes(place)))
      throw new InvalidInputError(
        message("template_without_screenshots", {
          file: origin,
          screenshots: "{{screenshots}}",
          entries: "{{entries}}"
        })
      );
    return new _Template(text2.replaceAll("\r\n", "\n"));
  }
  /** Return the service's comment with the template around it. The marker stays first. */
  fill(comment2, jobValues) {
    const { markdown, heading, count } = comment2;
    const at = Math.max(markdown.indexOf(heading), 0);
    const [marker, entries] = [markdown.slice(0, at), markdown.slice(at + heading.length)];
    const values = {
      screenshots: withoutOuterBreaks(heading + entries),
      heading,
      entries: withoutOuterBreaks(entries),
      count: String(count),
      ...jobValues
    };
    return marker + this.#substitute(values);
  }
  /** Return how long the service's comment may be, in bytes, so that the filled template fits. */
  room(limit, marker, jobValues) {
    const widest = {
      screenshots: "",
      heading: " ".repeat(MAX_HEADING_BYTES),
      entries: "",
      count: " ".repeat(MAX_COUNT_BYTES),
      ...jobValues
    };
    const own = Buffer.byteLength(`${marker}

${this.#substitute(widest)}`);
    const copies = placesIn(this.text).filter((place) => SCREENSHOT_PLACES.includes(place)).length;
    return Math.floor((limit - own) / copies);
  }
  /** Fill all places in one pass: a screenshot's name may look like a placeholder, and stays a name. */
  #substitute(values) {
    return this.text.replace(PLACE, (_, place) => values[place] ?? "");
  }
};
function placesIn(text2) {
  return [...text2.matchAll(PLACE)].map(([, place = ""]) => place);
}
function withoutOuterBreaks(text2) {
  return text2.replace(/^\n+|\n+$/g, "");
}
async function contentOf(path4) {
  try {
    const handle = await open(path4);
    try {
      const content2 = Buffer.alloc(MAX_COMMENT_BYTES + 1);
      const { bytesRead } = await handle.read(content2, 0, content2.length, 0);
      return content2.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new InvalidInputError(`cannot read the template ${path4}: ${reasonOf(error)}`);
  }
}

// src/commands/comment.ts
async function comment(options, context) {
  const { environ, say } = context;
  const template = options.template ? await Template.read(options.template) : void 0;
  const given = prIn(options, environ);
  let job = jobOf(context);
  if (given === void 0 && await buildsBaselines(job, branchIn2({}, environ))) {
    say(message("nothing_to_comment_on", { branch: job.branch }));
    return { markdown: "", dashboardUrl: "" };
  }
  const sender = senderOf(context);
  job = await askForge(job, given, sender, { needsCommit: false });
  const prNumber2 = pullRequest(given, job);
  if (options.post) refuseClosed(job, prNumber2);
  if (template) job = await withHead3(job, prNumber2, sender);
  if (options.post) job = jobAtForge(job, options, environ);
  const service = connect(options, context);
  const { view: usual, dashboardUrl } = await viewAndPage(service, prNumber2, job);
  const composer = new Composer(service, prNumber2, job, {
    view: options.view ?? usual,
    template,
    dashboardUrl
  });
  if (!options.post) return { markdown: await composer.markdown(), dashboardUrl };
  return { markdown: "", posted: await postAndReport(composer, job, sender, context), dashboardUrl };
}
async function postAndReport(composer, job, sender, context) {
  const { say, fail = say } = context;
  const forge = forgeOf(job, sender);
  const done = await post(forge, composer);
  for (const note of composer.notes) say(`Note: ${note}.`);
  if (composer.warning) fail(`Warning: ${composer.warning}.`);
  say(message(`comment_${done.outcome}`, { number: composer.prNumber, forge: forge.label }));
  return done;
}
async function withHead3(job, prNumber2, sender) {
  try {
    return await askForge(job, prNumber2, sender, { needsCommit: true });
  } catch (error) {
    if (error instanceof PrshotsError) return job;
    throw error;
  }
}

// src/queue.ts
var Queue = class {
  constructor(atOnce) {
    this.atOnce = atOnce;
  }
  atOnce;
  #running = 0;
  #waiting = [];
  #idle = [];
  /** Run this task when its turn comes. The task must not reject. */
  add(task) {
    this.#waiting.push(task);
    this.#next();
  }
  /** Wait until all tasks are done. */
  idle() {
    return new Promise((resolve2) => {
      this.#idle.push(resolve2);
      this.#next();
    });
  }
  #next() {
    while (this.#running < this.atOnce) {
      const task = this.#waiting.shift();
      if (!task) break;
      this.#running += 1;
      void task().finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
    if (this.#running === 0) for (const resolve2 of this.#idle.splice(0)) resolve2();
  }
};

// src/description.ts
var MAX_IMAGES = 50;
var CONCURRENT_QUESTIONS = 8;
var TIMEOUT_SECONDS2 = 2;
var CODE = /^[ \t>]*(`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t>]*\1)[^\n]*)*(?:\n[^\n]*)?|(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))*?(?<!`)\2(?!`)/.source;
var PATH = /\/i\/[0-9a-f]{32}\.[a-z0-9.]+\?exp=[0-9]+&(?:amp;)?token=[A-Za-z0-9_.-]+/.source;
var ADDRESS2 = String.raw`(https?://[^\s()<>"'\[\]]*${PATH})`;
var MARKDOWN = String.raw`!\[(?:\\.|\[[^\[\]\n]*\]|[^\[\]\\\n])*\]\(<?${ADDRESS2}>?(?: +"[^"\n]*")?\)`;
var HTML = String.raw`<img\b[^<>]*\ssrc\s*=\s*["']${ADDRESS2}["'][^<>]*>`;
var LINKED2 = String.raw`\[${MARKDOWN}\]\([^()\n]*\)|<a\b[^<>]*>\s*${HTML}\s*</a>`;
var PARTS = new RegExp(`${CODE}|${LINKED2}|${MARKDOWN}|${HTML}`, "gm");
function findImages(text2) {
  const found = [...text2.matchAll(PARTS)].map(([, ...groups]) => addressIn(groups));
  return [...new Set(found.filter((address2) => address2.includes("://")))];
}
function replaceImages(text2, deleted) {
  const words2 = message("screenshot_deleted");
  return text2.replace(
    PARTS,
    (part2, ...groups) => deleted.has(addressIn(groups.slice(0, 6))) ? words2 : part2
  );
}
async function cleanDescription(forge, prNumber2) {
  try {
    const addresses = findImages(await forge.description(prNumber2));
    const deleted = await findDeleted(addresses.slice(0, MAX_IMAGES));
    if (!deleted.size) return { replaced: 0, notDescribed: "" };
    const text2 = await forge.description(prNumber2);
    const cleaned = replaceImages(text2, deleted);
    if (cleaned !== text2) await forge.setDescription(prNumber2, cleaned);
    return { replaced: deleted.size, notDescribed: "" };
  } catch (error) {
    if (error instanceof PrshotsError) return { replaced: 0, notDescribed: messageOf(error) };
    throw error;
  }
}
async function findDeleted(addresses) {
  const deleted = /* @__PURE__ */ new Set();
  const queue = new Queue(CONCURRENT_QUESTIONS);
  for (const address2 of addresses)
    queue.add(async () => {
      const signal = AbortSignal.timeout(TIMEOUT_SECONDS2 * 1e3);
      const asked = { method: "HEAD", redirect: "manual", signal };
      const reply = await fetch(address2.replaceAll("&amp;", "&"), asked).catch(() => void 0);
      if (reply?.status === 410) deleted.add(address2);
    });
  await queue.idle();
  return deleted;
}
function addressIn(groups) {
  return groups.filter((group) => group !== void 0).at(-1) ?? "";
}

// src/expire.ts
var CONCURRENT_PURGES = 8;
var PURGE_SECONDS2 = 60;
async function close(service, prNumber2, forge, job, merge) {
  const proxied = await proxiedImages(forge, prNumber2);
  const asked = merge.mergedAs ? void 0 : await mergeOf2(forge, prNumber2, job);
  const mergedAs = merge.mergedAs || (asked?.commitSha ?? "");
  const expired = await service.expire(prNumber2, {
    mergedAs,
    branch: merge.branch || (asked?.branch ?? "")
  });
  const described = await cleanDescription(forge, prNumber2);
  const { count: left } = await service.comment(prNumber2, MAX_COMMENT_BYTES, "html", "latest");
  if (left)
    return { expired, left, posted: { outcome: "none", url: "" }, ...described, purged: 0, notPurged: 0 };
  if (proxied instanceof PrshotsError) throw unfinishedError(proxied, job);
  const composer = new Composer(service, prNumber2, job, { view: "latest" });
  const posted = await post(forge, composer, false).catch((error) => {
    throw error instanceof PrshotsError ? unfinishedError(error, job) : error;
  });
  const purged = await purge(forge, proxied);
  return { expired, left, posted, ...described, purged, notPurged: proxied.length - purged };
}
async function mergeOf2(forge, prNumber2, job) {
  if (job.closed && prNumber2 === job.prNumber) return void 0;
  try {
    return await forge.mergeOf(prNumber2);
  } catch (error) {
    if (error instanceof PrshotsError) return void 0;
    throw error;
  }
}
async function proxiedImages(forge, prNumber2) {
  const found = [];
  const marker = markerLine(forge.markerStyle, prNumber2);
  try {
    const comments = await forge.comments(prNumber2);
    for (const { id } of comments.filter((each) => !each.byStranger && hasMarker(each, marker)))
      found.push(...await forge.proxiedImages(id).catch(ifDeleted));
    return found;
  } catch (error) {
    if (error instanceof PrshotsError) return error;
    throw error;
  }
}
function ifDeleted(error) {
  if (error instanceof NotFoundError) return [];
  throw error;
}
async function purge(forge, addresses) {
  const until = Date.now() + PURGE_SECONDS2 * 1e3;
  const queue = new Queue(CONCURRENT_PURGES);
  let purged = 0;
  for (const address2 of addresses)
    queue.add(async () => {
      if (Date.now() < until && await forge.purge(address2)) purged += 1;
    });
  await queue.idle();
  return purged;
}
function unfinishedError(error, job) {
  const reason = error instanceof ForgeRefusedError ? withForkAdvice(error, job) : error;
  return new ForgeError(message("comment_not_changed", { why: messageOf(reason) }));
}

// src/commands/expire.ts
var PR_CLOSE = "pr_close";
var COMMENTED = {
  created: "comment_says_deleted",
  // never: a comment is only changed
  updated: "comment_says_deleted",
  unchanged: "comment_up_to_date",
  kept: "comment_of_other_account",
  none: "no_comment_to_update"
};
async function expire(options, context) {
  const { environ, say } = context;
  const [given, branch2] = [prIn(options, environ), branchIn2(options, environ)];
  const sender = senderOf(context);
  const found = await askForge(jobOf(context), given, sender, { needsCommit: false });
  const prNumber2 = pullRequest(given, found);
  const merge = await mergeOf3(found, prNumber2, options.mergedAs ?? "", branch2);
  if (!options.post) {
    const expired = await connect(options, context).expire(prNumber2, merge);
    say(expiredMessage(expired));
    return { json: jsonOf2(expired) };
  }
  const job = jobAtForge(found, options, environ);
  const forge = forgeOf(job, sender);
  const closed = await close(connect(options, context), prNumber2, forge, job, merge);
  for (const words2 of [expiredMessage(closed.expired), ...commentMessages(closed)]) say(words2);
  return { json: { ...jsonOf2(closed.expired), ...commentJson(closed) }, posted: closed.posted };
}
async function mergeOf3(job, prNumber2, given, branch2) {
  const takes = message("full_commit_rule");
  const isJobsOwn = prNumber2 === job.prNumber;
  const mergedAs = checked("--merged-as", given, fullCommit, takes) ?? (isJobsOwn ? job.mergedAs : "");
  if (!mergedAs) return { mergedAs: "", branch: "" };
  const target = isJobsOwn ? job.targetBranch : "";
  return { mergedAs, branch: branch2 || target || await defaultBranch(job) };
}
function jsonOf2({ prNumber: prNumber2, policy, marked, expired, baselines }) {
  return { pr_number: prNumber2, policy, marked, expired, ...baselines && { baselines } };
}
function commentJson({ left, posted, replaced, purged, notPurged }) {
  return {
    left,
    comment: posted.outcome,
    comment_url: posted.url,
    description: replaced,
    purged,
    not_purged: notPurged
  };
}
function expiredMessage(expired) {
  const closed = policyMessage(expired);
  if (!expired.baselines) return closed;
  return message("kept_as_baselines", { screenshots: pluralize(expired.baselines, "screenshot"), closed });
}
function policyMessage({ prNumber: number, policy, marked, expired }) {
  if (policy === PR_CLOSE)
    return message("deleted", { screenshots: pluralize(expired, "screenshot"), number });
  return message("marked_closed", { screenshots: pluralize(marked, "screenshot"), number, policy });
}
function commentMessages({ left, posted, replaced, notDescribed, notPurged }) {
  const messages = [];
  if (replaced)
    messages.push(message("description_cleaned", { screenshots: pluralize(replaced, "deleted screenshot") }));
  if (notDescribed) messages.push(message("description_not_changed", { why: notDescribed }));
  if (left)
    return [...messages, message("comment_still_shows", { screenshots: pluralize(left, "screenshot") })];
  messages.push(message(COMMENTED[posted.outcome]));
  if (notPurged) messages.push(message("proxy_kept_copies", { count: formatNumber(notPurged) }));
  return messages;
}

// src/gate.ts
import { isDeepStrictEqual } from "node:util";
var ROUNDS2 = 10;
var NOT_COMPARED = "not_compared";
function skipCommit(commitSha, reason) {
  const status = {
    context: STATUS_NAME,
    state: "success",
    description: message("skipped", { reason })
  };
  return { state: "passed", open: 0, reason: "", statuses: [status], commitSha, dashboardUrl: "" };
}
function isAbout({ reason, commitSha }, asked) {
  const [own, other] = [commitSha.toLowerCase(), asked.toLowerCase()];
  return reason === NOT_COMPARED || own.startsWith(other) || other.startsWith(own);
}
function describe2(gate2) {
  const { state, statuses } = gate2;
  const [status, ...others] = statuses;
  if (status && !others.length) return [message("gate_line", { state, words: status.description })];
  const lines = statuses.map(
    (each) => message("status_line", { name: each.context, state: each.state, words: each.description })
  );
  return [message("gate_line", { state, words: describeGate(gate2) }), ...lines];
}
async function setStatuses(forge, { runUrl }, commitSha, first2, ask, say) {
  let gate2 = first2;
  const written = /* @__PURE__ */ new Map();
  for (let round = 0; round < ROUNDS2 && isAbout(gate2, commitSha); round++) {
    const changed = gate2.statuses.filter((each) => !isDeepStrictEqual(each, written.get(each.context)));
    if (!changed.length) break;
    const url = gate2.dashboardUrl || runUrl;
    for (const each of changed) {
      await forge.setStatus(commitSha, { ...each, url });
      written.set(each.context, each);
    }
    gate2 = await ask();
  }
  const about = { commit: commitSha.slice(0, 7), forge: forge.label };
  for (const { context: name, state } of written.values())
    say(message("status_set", { name, state, ...about }));
  return { gate: gate2, isSet: written.size > 0 };
}
function describeGate({ state, open: open3, reason }) {
  const name = reason ? `gate_blocked_${reason}` : `gate_${state}`;
  const known = isMessage(name) ? name : "gate_blocked";
  return message(known, { shots: pluralize(open3, "screenshot") });
}

// src/commands/gate.ts
async function gate(options, context) {
  const { environ, say } = context;
  const [given, asked] = [prIn(options, environ), commitIn(options, environ)];
  const reason = words(options.skip);
  const detected = jobOf(context);
  if (!reason && given === void 0 && await buildsBaselines(detected, branchIn2({}, environ))) {
    say(message("nothing_to_gate", { branch: detected.branch }));
    return { lines: [], dashboardUrl: "", json: null, exitCode: 0 };
  }
  const known = await askForge(detected, given, senderOf(context), { needsCommit: !asked });
  const job = jobAtForge(known, options, environ);
  const skipped = reason ? asked || await commitOf(job) : "";
  const ask = reason ? askingToSkip(job, given, skipped, reason, options, context) : askingService(job, given, options, context);
  const first2 = await ask();
  const commit2 = asked || skipped || (job.ci ? "" : first2.commitSha) || await commitOf(job);
  const done = await trySetStatuses(job, commit2, first2, ask, context, options);
  const result = resultOf(done.gate, commit2, done.isSet);
  return options.fail ? result : { ...result, exitCode: 0 };
}
function askingService(job, given, options, context) {
  const prNumber2 = pullRequest(given, job);
  refuseClosed(job, prNumber2);
  const service = connect(options, context);
  return () => service.gate(prNumber2, options.noBaseline);
}
function askingToSkip(job, given, commit2, reason, options, context) {
  const prNumber2 = job.ci ? given ?? job.prNumber : pullRequest(given, job);
  if (prNumber2 === void 0) return async () => skipCommit(commit2, reason);
  const service = connect(options, context);
  return () => service.skip(prNumber2, commit2, reason);
}
async function trySetStatuses(job, commit2, first2, ask, context, { forgeToken: forgeToken2 }) {
  const { environ, say, fail = say } = context;
  const unchanged = { gate: first2, isSet: false };
  if (!isAbout(first2, commit2)) {
    const [other, own] = [first2.commitSha.slice(0, 7), commit2.slice(0, 7)];
    say(message("gate_of_other_commit", { other, commit: own }));
    return unchanged;
  }
  if (!job.ci && !(forgeToken2 || environ.PRSHOTS_FORGE_TOKEN)) return unchanged;
  try {
    const forge = forgeOf(job, senderOf(context));
    return await setStatuses(forge, job, await fullCommit2(commit2) || commit2, first2, ask, say);
  } catch (error) {
    const isRefused = error instanceof ForgeRefusedError;
    if (!isRefused && !(error instanceof InvalidInputError)) throw error;
    fail(message("status_not_set", { why: messageOf(isRefused ? withForkAdvice(error, job) : error) }));
    return unchanged;
  }
}
function resultOf(gate2, commit2, isSet2) {
  const { commitSha, dashboardUrl, ...json } = gate2;
  const about = { commit_sha: commitSha || commit2, dashboard_url: dashboardUrl || null };
  return {
    gate: gate2,
    lines: describe2(gate2),
    dashboardUrl,
    json: { gate: json, ...about, status: isSet2 },
    exitCode: isAbout(gate2, commit2) && gate2.state === "passed" ? 0 : EXIT_CODES.gated
  };
}

// src/commands/move_staged.ts
async function moveStaged(options, context) {
  const { environ, say, fail = say } = context;
  const job = jobOf(context);
  const { prNumber: prNumber2, sourceBranch, repository: repository2, repositoryUrl, fromFork } = job;
  const isJobsOwn = (prIn(options, environ) ?? prNumber2) === prNumber2;
  if (prNumber2 === void 0 || !isJobsOwn || !sourceBranch || job.closed || job.alreadyClosed) return;
  const service = connect(options, context);
  try {
    const own = repository2.includes("/") ? repository2 : repositoryOfRemote(repositoryUrl).repository;
    const done = await service.moveStaged(sourceBranch, prNumber2, fromFork ? "" : own, fromFork);
    const words2 = [];
    if (done.moved)
      words2.push(message("staged_moved", { screenshots: staged(done.moved), number: prNumber2 }));
    if (done.kept)
      words2.push(message("staged_not_moved", { screenshots: staged(done.kept), why: done.reason }));
    if (words2.length) say(`Note: ${words2.join("; ")}.`);
  } catch (error) {
    const isWarning = error instanceof PrshotsError && !(error instanceof UnreachableError);
    if (!isWarning) throw error;
    const words2 = message("staged_of_branch_not_moved", { branch: sourceBranch, why: messageOf(error) });
    fail(`Warning: ${words2}.`);
  }
}
function staged(count) {
  return pluralize(count, "staged screenshot");
}

// src/commands/output.ts
import { randomBytes as randomBytes2 } from "node:crypto";

// src/sizes.ts
var UNITS = ["B", "KB", "MB", "GB", "TB"];
function readableSize(bytes) {
  let value = bytes;
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.round(value) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  const tenths = Math.round(value * 10);
  return `${tenths < 100 ? tenths / 10 : Math.round(value)} ${UNITS[unit]}`;
}

// src/commands/output.ts
var UPLOAD_FORMATS = CONTRACT.options["upload-format"].choices;
var COMPARE_FORMATS = CONTRACT.options["compare-format"].choices;
var MAX_ROWS = 20;
function uploadText(result, format) {
  switch (format) {
    case "json":
      return jsonText(uploadJson(result));
    case "markdown":
      return linesOf(markdownOf(result).map(safeMarkdown));
    case "github-output":
      return linesOf(githubOutput(result));
    default:
      return uploadTable(result);
  }
}
function compareText({ comparison }, format) {
  if (format === "json") return jsonText(comparison?.json ?? null);
  if (!comparison) return "";
  switch (format) {
    case "github-output":
      return linesOf(comparisonOutputs(comparison.dashboardUrl, comparison));
    default:
      return shotTable(comparison.shots);
  }
}
function jsonText(value) {
  return `${safeJson(JSON.stringify(value, void 0, 2))}
`;
}
function linesOf(lines) {
  return lines.map((line) => `${line}
`).join("");
}
function markdownOf({ outcomes }) {
  return outcomes.flatMap(({ uploaded }) => uploaded ? [uploaded.markdown] : []);
}
function githubOutput(result) {
  const end = `end_${randomBytes2(16).toString("hex")}`;
  const urls = result.outcomes.flatMap(({ uploaded }) => uploaded ? [uploaded.viewUrl] : []);
  const block = (name, lines) => [`${name}<<${end}`, ...lines, end];
  return [
    `count=${result.count}`,
    ...comparisonOutputs(result.dashboardUrl, result.comparison),
    ...block("urls", urls),
    ...block("markdown", markdownOf(result))
  ];
}
function comparisonOutputs(dashboardUrl, comparison) {
  const lines = dashboardUrl ? [`dashboard-url=${dashboardUrl}`] : [];
  if (!comparison) return lines;
  const counts = Object.entries(comparison.counts).map(([name, count]) => `${name}=${count}`);
  return [...lines, `comparison=${comparison.state}`, ...counts];
}
function uploadJson(result) {
  const { target, outcomes, problems, isDry, comparison, dashboardUrl } = result;
  const good = outcomes.filter(({ error }) => !error).map(entryOf);
  const failed = [
    ...outcomes.filter(({ error }) => error).map(({ shot, error }) => ({ path: shot.path, error })),
    ...problems.map(({ path: path4, words: words2 }) => ({ path: path4, error: words2 }))
  ];
  const { branch: branch2, base_commit, state, counts } = comparison?.json ?? {};
  return {
    pr_number: target.prNumber ?? null,
    commit_sha: target.commitSha,
    count: result.count,
    known: result.known,
    ...target.baselineOf && { baseline_of: target.baselineOf },
    ...isDry ? { uploaded: [], would_upload: good } : { uploaded: good },
    failed,
    comparison: comparison ? { branch: branch2, base_commit, state, counts } : null,
    dashboard_url: dashboardUrl || null
  };
}
function entryOf({ shot, uploaded, note }) {
  const { path: path4, name, viewport, theme } = shot;
  const sent = uploaded && {
    id: uploaded.id,
    view_url: uploaded.viewUrl,
    markdown: uploaded.markdown
  };
  return { path: path4, name, viewport, ...theme && { theme }, ...sent, note };
}
function uploadTable({ outcomes, isDry }) {
  const good = outcomes.filter(({ error }) => !error);
  if (good.length > MAX_ROWS) return "";
  const done = ({ isKnown }) => message(isDry ? "result_would_be_uploaded" : isKnown ? "result_already_there" : "result_uploaded");
  return tableOf(
    good.map((outcome) => ({
      ...namesOf(outcome.shot),
      SIZE: readableSize(outcome.shot.size),
      RESULT: done(outcome) + (outcome.note && `; ${outcome.note}`)
    }))
  );
}
function shotTable(shots) {
  const compared2 = shots.filter(({ verdict }) => verdict !== "failed");
  const changes = compared2.filter(({ verdict }) => verdict !== "unchanged");
  const shown = compared2.length <= MAX_ROWS ? compared2 : changes;
  if (shown.length > MAX_ROWS) return "";
  return tableOf(
    shown.map((shot) => ({
      ...namesOf(shot),
      VERDICT: verdictOf(shot),
      PIXELS: pixelsOf(shot)
    }))
  );
}
function pixelsOf({ verdict, pixels, shift }) {
  if (verdict === "changed") return formatNumber(pixels);
  if (verdict === "moved")
    return message(shift < 0 ? "rows_removed" : "rows_inserted", { rows: formatNumber(Math.abs(shift)) });
  return "-";
}
function namesOf({ name, viewport, theme }) {
  return { NAME: name, VIEWPORT: viewport, THEME: theme };
}
function tableOf(rows) {
  const [first2] = rows;
  if (!first2) return "";
  const isThemed = rows.some(({ THEME }) => THEME);
  const columns = Object.keys(first2).filter((column) => column !== "THEME" || isThemed);
  const cells = [columns, ...rows.map((row) => columns.map((column) => printable(row[column] || "-")))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => lengthOf(row[index]))));
  return linesOf(
    cells.map(
      (row) => row.map((cell, index) => pad(cell, widths[index])).join("  ").trimEnd()
    )
  );
}
function lengthOf(text2 = "") {
  return Array.from(text2).length;
}
function pad(text2, width = 0) {
  return text2 + " ".repeat(width - lengthOf(text2));
}
function verdictOf({ verdict, isPair, ancestor }) {
  if (isPair) return message("verdict_of_pair", { verdict });
  return ancestor ? verdict : message("verdict_since_newest", { verdict });
}

// src/shots.ts
import { open as open2, stat } from "node:fs/promises";
import path3 from "node:path";

// src/formats.ts
var LABELS = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/webp": "WEBP"
};
function contentTypeOf(image) {
  if (image.subarray(0, 8).equals(Buffer.from("PNG\r\n\n", "latin1"))) return "image/png";
  if (image.subarray(0, 3).equals(Buffer.from([255, 216, 255]))) return "image/jpeg";
  if (text(image, 0) === "RIFF" && text(image, 8) === "WEBP") return "image/webp";
  return void 0;
}
function isCutOff(image) {
  const contentType = contentTypeOf(image);
  return contentType !== void 0 && !IS_COMPLETE[contentType](image);
}
var IS_COMPLETE = {
  "image/png": (image) => {
    const last = firstOf(pngChunks(image), ({ kind }) => kind === "IEND");
    return last !== void 0 && last.end + CHECKSUM_BYTES <= image.length;
  },
  "image/jpeg": (image) => firstOf(jpegSegments(image), ({ kind }) => kind === END_OF_IMAGE) !== void 0,
  "image/webp": (image) => {
    const end = image.length < 8 ? 0 : 8 + image.readUInt32LE(4);
    return end >= SHORTEST_WEBP && end <= image.length;
  }
};
var SHORTEST_WEBP = 20;
var CHECKSUM_BYTES = 4;
var [END_OF_IMAGE, START_OF_SCAN, APP1] = [217, 218, 225];
var WITHOUT_LENGTH = [1, 216, END_OF_IMAGE];
function* jpegSegments(image) {
  for (let at = image.indexOf(255, 2); at >= 0; at = image.indexOf(255, at)) {
    const [kind, start] = [image[at + 1] ?? 0, at + 2];
    if (kind === 0 || kind === 255 || kind >= 208 && kind <= 215) {
      at += 1;
    } else {
      const hasLength = !WITHOUT_LENGTH.includes(kind) && start + 2 <= image.length;
      at = start + (hasLength ? image.readUInt16BE(start) : 0);
      yield { kind, start: start + 2, end: at };
      if (kind === END_OF_IMAGE) return;
    }
  }
}
function* pngChunks(image) {
  for (let start = 16; start <= image.length; ) {
    const [kind, end] = [text(image, start - 4), start + image.readUInt32BE(start - 8)];
    yield { kind, start, end };
    if (kind === "IEND") return;
    start = end + CHECKSUM_BYTES + 8;
  }
}
function* webpChunks(image) {
  const whole = Math.min(image.length, 8 + image.readUInt32LE(4));
  for (let start = 20; start <= whole; ) {
    const end = start + image.readUInt32LE(start - 4);
    yield { kind: text(image, start - 8), start, end };
    start = end + end % 2 + 8;
  }
}
function firstOf(parts, matches, last) {
  for (const part2 of parts) {
    if (matches(part2)) return part2;
    if (part2.kind === last) break;
  }
  return void 0;
}
function pixelSize(image) {
  const size = unlessCutOff(() => SIZES[contentTypeOf(image) ?? "none"](image));
  if (!size?.width || !size.height) return void 0;
  return isRotated(image) ? { width: size.height, height: size.width } : size;
}
function unlessCutOff(read2) {
  try {
    return read2();
  } catch (error) {
    if (error instanceof RangeError) return void 0;
    throw error;
  }
}
var SIZES = {
  "image/png": (image) => text(image, 12) === "IHDR" ? { width: image.readUInt32BE(16), height: image.readUInt32BE(20) } : void 0,
  "image/jpeg": (image) => {
    const frame = firstOf(jpegSegments(image), ({ kind }) => isFrame(kind), START_OF_SCAN);
    return frame && { height: image.readUInt16BE(frame.start + 1), width: image.readUInt16BE(frame.start + 3) };
  },
  "image/webp": webpSize,
  none: () => void 0
};
function isFrame(marker) {
  return marker >= 192 && marker <= 207 && ![196, 200, 204].includes(marker);
}
function webpSize(image) {
  switch (text(image, 12)) {
    case "VP8 ":
      if (image.readUIntBE(23, 3) !== 10289450) return void 0;
      return { width: image.readUInt16LE(26) & 16383, height: image.readUInt16LE(28) & 16383 };
    case "VP8L": {
      if (image.readUInt8(20) !== 47) return void 0;
      const bits = image.readUInt32LE(21);
      return { width: (bits & 16383) + 1, height: (bits >>> 14 & 16383) + 1 };
    }
    case "VP8X":
      return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 };
    default:
      return void 0;
  }
}
var EXIF = "Exif\0\0";
var ORIENTATION = 274;
var SHORT = 3;
function isRotated(image) {
  const found = exifOf(image);
  const exif = startsWith(found, EXIF) ? found.subarray(EXIF.length) : found;
  const isLittleEndian = startsWith(exif, "II*\0");
  if (!isLittleEndian && !startsWith(exif, "MM\0*")) return false;
  const short = (at) => isLittleEndian ? exif.readUInt16LE(at) : exif.readUInt16BE(at);
  const long = (at) => isLittleEndian ? exif.readUInt32LE(at) : exif.readUInt32BE(at);
  const orientation = unlessCutOff(() => {
    const first2 = long(4) + 2;
    const end = Math.min(first2 + 12 * short(first2 - 2), exif.length);
    for (let at = first2; at + 12 <= end; at += 12)
      if (short(at) === ORIENTATION) return short(at + 2) === SHORT && long(at + 4) === 1 ? short(at + 8) : 0;
    return 0;
  });
  return orientation !== void 0 && orientation >= 5 && orientation <= 8;
}
function exifOf(image) {
  const found = EXIF_PARTS[contentTypeOf(image) ?? "none"](image);
  return image.subarray(found?.start ?? 0, found?.end ?? 0);
}
var EXIF_FLAG = 8;
var EXIF_PARTS = {
  "image/png": (image) => firstOf(pngChunks(image), ({ kind }) => kind === "eXIf", "IDAT"),
  "image/jpeg": (image) => firstOf(
    jpegSegments(image),
    ({ kind, start, end }) => kind === APP1 && startsWith(image.subarray(start, end), EXIF),
    START_OF_SCAN
  ),
  "image/webp": (image) => text(image, 12) === "VP8X" && image.readUInt8(20) & EXIF_FLAG ? firstOf(webpChunks(image), ({ kind }) => kind === "EXIF") : void 0,
  none: () => void 0
};
function startsWith(bytes, start) {
  return bytes.toString("latin1", 0, start.length) === start;
}
function text(image, at) {
  return image.toString("latin1", at, at + 4);
}

// src/shot_names.ts
var MAX_NAME_CHARACTERS = 200;
var VIEWPORT = /^[1-9][0-9]{0,4}x[1-9][0-9]{0,4}$/;
var THEMES = ["light", "dark"];
var SUFFIXES = /^(.*)@([0-9]+x[0-9]+)(?:@[0-9.]+x)?(?:\.(light|dark))?$/s;
function suffixesOf(stem) {
  const [, name = stem, viewport = "", theme = ""] = SUFFIXES.exec(stem) ?? [];
  return { name: viewport ? name.replace(/[ /]+$/, "") : name, viewport, theme };
}

// src/shots.ts
var EXTENSIONS = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".webp": "image/webp"
};
var MAX_READ_BYTES = 64 * 1024 * 1024;
async function findShots(paths, naming2 = {}) {
  const { base = "", name = "", viewport = "", theme = "" } = naming2;
  if (viewport && !VIEWPORT.test(viewport))
    throw new InvalidInputError(message("invalid_viewport", { given: quote(viewport) }));
  if (theme && !THEMES.includes(theme))
    throw new InvalidInputError(message("invalid_theme", { given: quote(theme) }));
  const problems = [];
  const onProblem = (at, words2, isMissing = false) => problems.push({ path: at, words: words2, isMissing });
  const files = withoutRepetitions([...findFiles(paths, hasExtension, onProblem)]);
  if (name && files.length > 1) throw new InvalidInputError(message("name_for_one", { count: files.length }));
  const shots = /* @__PURE__ */ new Map();
  for (const file of files) {
    try {
      const shot = await shotFrom(file, { base: base || file.folder, name, viewport, theme });
      const other = shots.get(keyOf2(shot));
      if (other) throw new InvalidInputError(sameShot(shot, other));
      shots.set(keyOf2(shot), shot);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      onProblem(file.path, error.message);
    }
  }
  return { shots: [...shots.values()].sort(inOrder), problems };
}
function keyOf2({ name, viewport, theme }) {
  return JSON.stringify([name, viewport, theme]);
}
function cutOffWarning(contentType) {
  return message("cut_off", { format: LABELS[contentType] });
}
function hasExtension(file) {
  return path3.extname(file).toLowerCase() in EXTENSIONS;
}
function withoutRepetitions(files) {
  const byPath = new Map(files.reverse().map((file) => [path3.resolve(file.path), file]));
  return [...byPath.values()].reverse();
}
function sameShot({ theme }, other) {
  return message(theme ? "same_themed_shot" : "same_shot", { other: other.path });
}
function inOrder(one, other) {
  return byNumbers([one.name, one.viewport, one.theme], [other.name, other.viewport, other.theme]);
}
async function shotFrom(file, given) {
  const title = given.name ? { name: given.name, viewport: "", theme: "" } : suffixesOf(nameOf(file.path, given.base));
  checkName(title.name);
  if (file.isUnreadable) throw new InvalidInputError("has a name that is not UTF-8: rename it");
  const { contentType, size, pixels, warning } = await inspect(file.path);
  const viewport = given.viewport || title.viewport || pixels;
  if (!viewport) throw new InvalidInputError(message("no_pixel_size"));
  if (!VIEWPORT.test(viewport)) throw new InvalidInputError(message("viewport_out_of_range", { viewport }));
  const namedAs = EXTENSIONS[path3.extname(file.path).toLowerCase()] ?? contentType;
  const note = namedAs === contentType ? "" : message("other_format", { format: LABELS[contentType] });
  const theme = given.theme || title.theme;
  return { path: file.path, name: title.name, viewport, theme, contentType, size, note, warning };
}
function nameOf(file, folder) {
  const stem = hasExtension(file) ? file.slice(0, -path3.extname(file).length) : file;
  const relative = partsOf(path3.relative(folder || ".", stem));
  if (!relative.includes("..")) return relative.join("/");
  if (folder) throw new InvalidInputError(message("not_in_base", { folder }));
  return partsOf(path3.normalize(stem)).filter((part2) => part2 !== "..").join("/");
}
function checkName(name) {
  if (!name) throw new InvalidInputError(message("no_name"));
  const { length } = Array.from(name);
  if (length > MAX_NAME_CHARACTERS)
    throw new InvalidInputError(message("name_too_long", { count: length, limit: MAX_NAME_CHARACTERS }));
  if (name.includes("\0") || new RegExp("\\p{Surrogate}", "u").test(name))
    throw new InvalidInputError(message("name_not_text"));
}
async function inspect(file) {
  const { size, data } = await beginningOf(file);
  if (!data.length) throw new InvalidInputError(message("empty_file"));
  const contentType = contentTypeOf(data);
  if (!contentType) throw new InvalidInputError(message("not_an_image"));
  const isDamaged = size <= data.length && isCutOff(data);
  const pixels = pixelSize(data);
  return {
    contentType,
    size,
    pixels: pixels ? `${pixels.width}x${pixels.height}` : "",
    warning: isDamaged ? cutOffWarning(contentType) : ""
  };
}
async function requireFile(file) {
  if (!(await stat(file)).isFile()) throw new InvalidInputError(message("not_a_file"));
}
async function beginningOf(file) {
  try {
    await requireFile(file);
    const handle = await open2(file);
    try {
      const { size } = await handle.stat();
      const data = Buffer.alloc(Math.min(size, MAX_READ_BYTES));
      const { bytesRead } = await handle.read(data, 0, data.length, 0);
      return { size, data: data.subarray(0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(message("cannot_read", { why: reasonOf(error) }));
  }
}

// src/upload.ts
import { createHash as createHash3 } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";

// src/patience.ts
var FAILURES_IN_A_ROW = 3;
var HOPELESS = [UnauthorizedError, UnreachableError, RateLimitedError, WrongAddressError];
var Patience = class {
  /** Why it is over; empty while it is not. */
  reason = "";
  #failures = 0;
  get isOver() {
    return this.reason !== "";
  }
  recordSuccess() {
    this.#failures = 0;
  }
  /** Count an error. Return whether every other upload would fail for the same reason. */
  recordFailure(error) {
    if (error instanceof CallError) this.#failures += 1;
    const isHopeless = HOPELESS.some((kind) => error instanceof kind);
    if (isHopeless || this.#failures >= FAILURES_IN_A_ROW) this.reason ||= messageOf(error);
    return isHopeless;
  }
};

// src/png.ts
import { promisify } from "node:util";
import { constants, deflate, inflate } from "node:zlib";
var SIGNATURE = Buffer.from("PNG\r\n\n", "latin1");
var EIGHT_BITS = 8;
var PALETTE = 3;
var SAMPLES = { 0: 1, 2: 3, [PALETTE]: 1, 4: 2, 6: 4 };
var COLOR_TYPES = { 1: 0, 2: 4, 3: 2, 4: 6 };
var FILTERS = [0, 1, 2, 4];
var LEVEL = 6;
async function decode(image, maxPixels) {
  const { header, palette, alpha, data, exif } = chunksOf(image);
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const colorType = header.readUInt8(9);
  const samples = SAMPLES[colorType];
  if (header.readUInt8(8) !== EIGHT_BITS || !samples || header.readUInt8(12) !== 0)
    throw new InvalidInputError("cannot be shrunk: it is interlaced, or has other than 8 bits per channel");
  if (width * height > maxPixels)
    throw new InvalidInputError(message("too_many_pixels", { limit: formatNumber(maxPixels) }));
  const stride = width * samples;
  const filtered = await inflated(data, (stride + 1) * height);
  const pixels = unfiltered(filtered, stride, height, samples);
  if (colorType !== PALETTE) return { width, height, channels: samples, pixels, exif };
  return { width, height, exif, ...withoutPalette(pixels, palette, alpha) };
}
function chunksOf(image) {
  const found = {
    header: Buffer.alloc(0),
    palette: Buffer.alloc(0),
    alpha: Buffer.alloc(0),
    exif: Buffer.alloc(0),
    data: Buffer.alloc(0)
  };
  const data = [];
  for (let at = SIGNATURE.length; at + 12 <= image.length; at += 12 + image.readUInt32BE(at)) {
    const content2 = image.subarray(at + 8, at + 8 + image.readUInt32BE(at));
    const name = image.toString("latin1", at + 4, at + 8);
    if (name === "IHDR" && content2.length === 13) found.header = content2;
    else if (name === "PLTE") found.palette = content2;
    else if (name === "tRNS") found.alpha = content2;
    else if (name === "eXIf" && !data.length) found.exif = content2;
    else if (name === "IDAT") data.push(content2);
  }
  if (!found.header.length || !data.length) throw damaged();
  return { ...found, data: Buffer.concat(data) };
}
async function inflated(data, bytes) {
  try {
    const filtered = await promisify(inflate)(data, { maxOutputLength: bytes + 1 });
    if (filtered.length !== bytes) throw damaged();
    return filtered;
  } catch {
    throw damaged();
  }
}
function damaged() {
  return new InvalidInputError("cannot be shrunk: the file is damaged");
}
function unfiltered(filtered, stride, height, samples) {
  const pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const [from, to] = [row * (stride + 1) + 1, row * stride];
    const filter = filtered[from - 1] ?? 0;
    for (let x = 0; x < stride; x++) {
      const left = x >= samples ? pixels[to + x - samples] ?? 0 : 0;
      const up = row > 0 ? pixels[to + x - stride] ?? 0 : 0;
      const corner = row > 0 && x >= samples ? pixels[to + x - stride - samples] ?? 0 : 0;
      pixels[to + x] = (filtered[from + x] ?? 0) + predicted(filter, left, up, corner);
    }
  }
  return pixels;
}
function predicted(filter, left, up, corner) {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return left + up >> 1;
    case 4: {
      const toLeft = Math.abs(up - corner);
      const toUp = Math.abs(left - corner);
      const toCorner = Math.abs(left + up - 2 * corner);
      if (toLeft <= toUp && toLeft <= toCorner) return left;
      return toUp <= toCorner ? up : corner;
    }
    default:
      return 0;
  }
}
function withoutPalette(indexes, palette, alpha) {
  const channels = alpha.length ? 4 : 3;
  const pixels = Buffer.alloc(indexes.length * channels);
  indexes.forEach((index, at) => {
    palette.copy(pixels, at * channels, index * 3, index * 3 + 3);
    if (channels === 4) pixels[at * 4 + 3] = alpha[index] ?? 255;
  });
  return { channels, pixels };
}
async function encode({ width, height, channels, pixels, exif }) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(EIGHT_BITS, 8);
  header.writeUInt8(COLOR_TYPES[channels] ?? 0, 9);
  const filtered = filteredRows(pixels, width * channels, height, channels);
  const data = await promisify(deflate)(filtered, { level: LEVEL, memLevel: constants.Z_MAX_MEMLEVEL });
  const metadata = exif.length ? [chunk("eXIf", exif)] : [];
  const chunks = [chunk("IHDR", header), ...metadata, chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...chunks]);
}
function filteredRows(pixels, stride, height, samples) {
  const filtered = Buffer.alloc((stride + 1) * height);
  const attempt = Buffer.alloc(stride + 1);
  for (let row = 0; row < height; row++) {
    let least = Number.POSITIVE_INFINITY;
    for (const filter of FILTERS) {
      const sum = filterRow(attempt, filter, pixels, row, stride, samples);
      if (sum >= least) continue;
      least = sum;
      attempt.copy(filtered, row * (stride + 1));
    }
  }
  return filtered;
}
function filterRow(into, filter, pixels, row, stride, samples) {
  const from = row * stride;
  let sum = 0;
  into[0] = filter;
  for (let x = 0; x < stride; x++) {
    const left = x >= samples ? pixels[from + x - samples] ?? 0 : 0;
    const up = row > 0 ? pixels[from + x - stride] ?? 0 : 0;
    const corner = row > 0 && x >= samples ? pixels[from + x - stride - samples] ?? 0 : 0;
    const rest = (pixels[from + x] ?? 0) - predicted(filter, left, up, corner) & 255;
    into[x + 1] = rest;
    sum += rest < 128 ? rest : 256 - rest;
  }
  return sum;
}
function chunk(name, content2) {
  const framed = Buffer.alloc(12 + content2.length);
  framed.writeUInt32BE(content2.length, 0);
  framed.write(name, 4, "latin1");
  content2.copy(framed, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, 8 + content2.length)), 8 + content2.length);
  return framed;
}
var CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >>> 1 ^ 3988292384 : crc >>> 1;
  return crc;
});
function crc32(bytes) {
  let crc = 4294967295;
  for (const byte of bytes) crc = crc >>> 8 ^ (CRC_TABLE[(crc ^ byte) & 255] ?? 0);
  return (crc ^ 4294967295) >>> 0;
}

// src/shrink.ts
var MAX_PIXELS = 1e8;
var MAX_FILE_BYTES = 200 * 1024 * 1024;
var SHADES = [8, 5, 4];
var HOPELESS2 = 4;
async function shrink(image, limit) {
  const contentType = contentTypeOf(image);
  if (contentType !== "image/png")
    throw new InvalidInputError(
      `cannot be shrunk: only PNG can, not ${contentType ? LABELS[contentType] : "this format"}. Take the screenshot as a PNG, or upload with the Python client (pip install 'prshots[shrink]')`
    );
  if (image.length > MAX_FILE_BYTES)
    throw new InvalidInputError(message("too_large_to_shrink", { limit: readableSize(MAX_FILE_BYTES) }));
  let bitmap = await decode(image, MAX_PIXELS);
  for (; ; ) {
    for (const bits of SHADES) {
      const attempt = await encode(withShades(bitmap, bits));
      if (attempt.length < limit) return { image: attempt, contentType, label: LABELS[contentType] };
      if (attempt.length > HOPELESS2 * limit) break;
    }
    if (bitmap.width === 1 && bitmap.height === 1)
      throw new InvalidInputError(message("cannot_shrink_enough"));
    bitmap = halve(bitmap);
  }
}
function withShades(bitmap, bits) {
  if (bits === 8) return bitmap;
  const most = 2 ** bits - 1;
  const shades = Uint8Array.from(
    { length: 256 },
    (_, value) => Math.round(Math.round(value * most / 255) * 255 / most)
  );
  return { ...bitmap, pixels: Buffer.from(bitmap.pixels.map((value) => shades[value] ?? 0)) };
}
function halve({ width, height, channels, pixels, exif }) {
  const [half, rows] = [Math.ceil(width / 2), Math.ceil(height / 2)];
  const reduced = Buffer.alloc(half * rows * channels);
  for (let y = 0; y < rows; y++)
    for (let x = 0; x < half; x++)
      for (let channel = 0; channel < channels; channel++) {
        const [left, right] = [2 * x, Math.min(2 * x + 1, width - 1)];
        const [top, bottom] = [2 * y, Math.min(2 * y + 1, height - 1)];
        const at = (column, row) => pixels[(row * width + column) * channels + channel] ?? 0;
        const sum = at(left, top) + at(right, top) + at(left, bottom) + at(right, bottom);
        reduced[(y * half + x) * channels + channel] = sum + 2 >> 2;
      }
  return { width: half, height: rows, channels, pixels: reduced, exif };
}

// src/upload.ts
var NOT_TRIED = message("not_tried");
var DEFAULT_CONCURRENCY = CONTRACT.options.jobs.default;
var MAX_IMAGE_BYTES = 5 * 1024 * 1024;
function outcomeOf(shot, known = {}) {
  return { shot, error: "", note: shot.note, isFatal: false, isTooLarge: false, isKnown: false, ...known };
}
async function uploadAll(service, shots, target, sending = {}) {
  if (!shots.length) return [];
  return new FileUploads(service, target, await service.maxImageBytes(), sending).run(shots);
}
var FileUploads = class {
  constructor(service, target, maxBytes, sending) {
    this.service = service;
    this.target = target;
    this.maxBytes = maxBytes;
    this.sending = sending;
    const limit = Number.isFinite(maxBytes) ? maxBytes : MAX_IMAGE_BYTES;
    this.#shrinkFrom = sending.shrink ? limit : Number.POSITIVE_INFINITY;
  }
  service;
  target;
  maxBytes;
  sending;
  #patience = new Patience();
  /** The service's 413 decides if its limit is not known. Shrinking needs a number. */
  #shrinkFrom;
  #shrinking = Promise.resolve();
  /** The keys of the shots that the service has. */
  #known = /* @__PURE__ */ new Set();
  async run(shots) {
    try {
      await this.#findKnown(shots);
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      return this.#noneTried(shots, error.message);
    }
    const outcomes = [];
    const queue = new Queue(this.sending.jobs ?? DEFAULT_CONCURRENCY);
    for (const [index, shot] of shots.entries())
      queue.add(async () => {
        const outcome = await this.#outcome(shot);
        outcomes[index] = outcome;
        this.sending.onDone?.(outcome);
      });
    await queue.idle();
    return outcomes;
  }
  /** Ask about all files that are sent unchanged. */
  async #findKnown(shots) {
    const hashed = [];
    for (const { path: path4, name, viewport, theme, size } of shots) {
      const sha256 = size < this.#shrinkFrom ? await sha256Of(path4) : "";
      if (sha256) hashed.push({ name, viewport, theme, sha256 });
    }
    this.#known = new Set(hashed.map(keyOf2));
    for (const shot of await this.service.missing(hashed, this.target)) this.#known.delete(keyOf2(shot));
  }
  /** Return the outcomes of an error that every upload would hit. */
  #noneTried(shots, why) {
    const outcomes = shots.map(
      (shot, index) => outcomeOf(shot, { error: index ? NOT_TRIED : why, isFatal: true })
    );
    for (const outcome of outcomes) this.sending.onDone?.(outcome);
    return outcomes;
  }
  async #outcome(shot) {
    if (this.#known.has(keyOf2(shot))) return outcomeOf(shot, { isKnown: true });
    if (this.#patience.isOver) return outcomeOf(shot, { error: NOT_TRIED, isFatal: true });
    try {
      const outcome = await this.#uploadFile(shot);
      this.#patience.recordSuccess();
      return outcome;
    } catch (error) {
      this.#patience.recordFailure(error);
      const words2 = error instanceof PrshotsError ? error.message : `failed: ${messageOf(error)}`;
      const isTooLarge = error instanceof PayloadTooLargeError;
      return outcomeOf(shot, { error: words2, isFatal: this.#patience.isOver, isTooLarge });
    }
  }
  async #uploadFile(shot) {
    if (shot.size >= this.#shrinkFrom) return this.#uploadShrunk(shot, this.#shrinkFrom);
    if (shot.size >= this.maxBytes)
      throw new PayloadTooLargeError(
        message("too_large", { size: readableSize(shot.size), limit: readableSize(this.maxBytes) })
      );
    const image = await contentOf2(shot);
    return outcomeOf(shot, { uploaded: await this.service.send({ ...shot, image }, this.target) });
  }
  async #uploadShrunk(shot, limit) {
    const turn = this.#shrinking.then(async () => shrink(await contentOf2(shot), limit));
    this.#shrinking = turn.catch(() => {
    });
    const { image, contentType, label } = await turn;
    const sizes = { before: readableSize(shot.size), after: readableSize(image.length) };
    const note = message("shrunk", { ...sizes, format: label });
    const sent = { ...shot, image, contentType };
    if (await this.service.isKnown(sent, this.target)) return outcomeOf(shot, { isKnown: true, note });
    return outcomeOf(shot, { uploaded: await this.service.send(sent, this.target), note });
  }
};
async function contentOf2(shot) {
  try {
    await requireFile(shot.path);
    return await readFile(shot.path);
  } catch (error) {
    if (error instanceof InvalidInputError) throw error;
    throw new InvalidInputError(message("cannot_read", { why: reasonOf(error) }));
  }
}
async function sha256Of(path4) {
  const hash = createHash3("sha256");
  try {
    await requireFile(path4);
    await pipeline(createReadStream(path4), hash);
    return hash.digest("hex");
  } catch {
    return "";
  }
}

// src/commands/progress.ts
var TELL_SECONDS2 = 10;
var Progress = class {
  constructor(total, context, now = () => Date.now() / 1e3) {
    this.total = total;
    this.context = context;
    this.now = now;
    this.#toldAt = now();
    context.stopped.addEventListener(
      "abort",
      () => this.#fail(message("interrupted", { count: this.#count, total }))
    );
  }
  total;
  context;
  now;
  #count = 0;
  #toldAt;
  #failures = /* @__PURE__ */ new Set();
  done(outcome) {
    this.#count += 1;
    this.#tellFailure(outcome);
    if (this.now() - this.#toldAt < TELL_SECONDS2 || this.#count === this.total) return;
    this.#toldAt = this.now();
    this.context.say(
      message("uploading", { count: formatNumber(this.#count), total: formatNumber(this.total) })
    );
  }
  /** A failure that stops all uploads names no file, and is told once. Files that were not tried get no line. */
  #tellFailure({ shot, error, isFatal }) {
    if (!error || error === NOT_TRIED) return;
    const words2 = isFatal ? error : `${shot.path}: ${error}`;
    if (this.#failures.has(words2)) return;
    this.#failures.add(words2);
    this.#fail(words2);
  }
  #fail(words2) {
    (this.context.fail ?? this.context.say)(words2);
  }
};

// src/commands/upload.ts
var WARNING = "warning: ";
async function upload(options, context) {
  const { environ, say, fail = say } = context;
  const asked = {
    pr: prIn(options, environ),
    commit: commitIn(options, environ),
    branch: branchIn2(options, environ),
    baseline: options.baseline ?? false
  };
  const inEvent = jobOf(context);
  refuseClosed(inEvent, asked.pr ?? inEvent.prNumber);
  const found = await findScreenshots(options);
  for (const { path: path4, words: words2 } of found.problems) fail(`${path4}: ${words2}`);
  for (const { path: path4, warning } of found.shots) if (warning) say(`${path4}: ${warning}`);
  const needs = { needsCommit: !asked.commit };
  const known = () => askForge(inEvent, asked.pr, senderOf(context), needs);
  const unknown = { commitSha: asked.commit, ...asked.pr !== void 0 && { prNumber: asked.pr } };
  if (options.dryRun) {
    const finding = known().then((job2) => targetOf(job2, asked));
    const target2 = await finding.catch((error) => {
      if (!(error instanceof InvalidInputError)) throw error;
      say(message("real_upload_needs", { problem: error.message }));
      return unknown;
    });
    return dryRun(found, target2, options.shrink ?? false, say);
  }
  if (!found.shots.length) {
    say(message("nothing_to_upload"));
    return resultOf2(unknown, [], found);
  }
  const job = await known();
  if (job.hasFailed) say(message("run_has_failed"));
  const target = await targetOf(job, asked);
  return new Upload(connect(options, context), job, target, options, context).run(found, asked.branch);
}
async function findScreenshots({
  paths,
  base,
  name,
  viewport,
  theme,
  allowEmpty
}) {
  const naming2 = { base: base ?? "", name: name ?? "", viewport: viewport ?? "", theme: theme ?? "" };
  const { shots, problems } = await findShots(paths, naming2);
  if (allowEmpty) return { shots, problems: problems.filter(({ isMissing }) => !isMissing) };
  if (shots.length || problems.some(({ isMissing }) => !isMissing)) return { shots, problems };
  const searched = paths.map((path4) => path4 || "''").join(", ");
  throw new NoScreenshotsError(message("no_screenshots_found", { searched, folder: process.cwd() }));
}
function resultOf2(target, outcomes, { problems }) {
  const good = outcomes.filter(({ error }) => !error).length;
  const isAll = good === outcomes.length + problems.length;
  return {
    target,
    outcomes,
    problems,
    isDry: false,
    dashboardUrl: "",
    count: outcomes.filter(({ uploaded, isKnown }) => uploaded || isKnown).length,
    known: outcomes.filter(({ isKnown }) => isKnown).length,
    exitCode: isAll ? 0 : good ? EXIT_CODES.some_failed : EXIT_CODES.failed
  };
}
function dryRun(found, target, shrink2, say) {
  const outcomes = found.shots.map((shot) => outcomeOf(shot, { note: dryNote(shot, shrink2) }));
  const commit2 = target.commitSha.slice(0, 7) || "?";
  const isListed = outcomes.length <= MAX_ROWS;
  for (const { shot, note } of isListed ? [] : outcomes)
    if (note.startsWith(WARNING)) say(`${shot.path}: ${note}`);
  const listed = isListed ? "" : message("list_with_json");
  say(message("dry_run", { count: outcomes.length, target: describeTarget(target), commit: commit2, listed }));
  return { ...resultOf2(target, outcomes, found), isDry: true };
}
function dryNote({ size, note }, shrink2) {
  if (size < MAX_IMAGE_BYTES) return note;
  const limit = readableSize(MAX_IMAGE_BYTES);
  return shrink2 ? message("would_shrink", { size: readableSize(size), limit }) : message("over_default_limit", { size: readableSize(size), limit });
}
var Upload = class {
  constructor(service, job, target, options, context) {
    this.service = service;
    this.job = job;
    this.target = target;
    this.options = options;
    this.context = context;
  }
  service;
  job;
  target;
  options;
  context;
  async run(found, branch2) {
    const { job, options, context } = this;
    const { baselineOf, prNumber: prNumber2, commitSha } = this.target;
    const progress = new Progress(found.shots.length, context);
    const outcomes = await uploadAll(this.service, found.shots, this.target, {
      ...options.jobs && { jobs: options.jobs },
      shrink: options.shrink ?? false,
      onDone: (outcome) => progress.done(outcome)
    });
    const result = resultOf2(this.target, outcomes, found);
    this.#saySummary(result);
    const isPartial = options.partial || job.isParallel || job.hasFailed;
    const isComplete = result.exitCode === 0 && !isPartial;
    if (job.isParallel && !options.partial) context.say(message("complete_after_parallel_jobs"));
    if (baselineOf && isComplete) await this.service.completeBaselines(baselineOf, commitSha);
    if (prNumber2 === void 0 || !result.count) return result;
    return { ...result, ...await this.#compare(prNumber2, branch2, isComplete) };
  }
  #saySummary({ outcomes, problems, count, known }) {
    const { say } = this.context;
    if (outcomes.some(({ isTooLarge }) => isTooLarge)) say(message("use_shrink"));
    const left = outcomes.filter(({ error }) => error === NOT_TRIED).length;
    say(
      message("uploaded_summary", {
        count,
        total: outcomes.length + problems.length,
        target: describeTarget(this.target),
        already_there: known ? message("already_there", { count: formatNumber(known) }) : "",
        not_tried: left ? message("not_tried_count", { count: formatNumber(left) }) : ""
      })
    );
  }
  /** Return the comparison. The screenshots are uploaded: a failure is only a warning. */
  async #compare(prNumber2, branch2, complete) {
    const { service, job, context } = this;
    const { commitSha } = this.target;
    const { say, fail = say } = context;
    const compares = this.options.compare ?? true;
    let dashboardUrl = "";
    try {
      dashboardUrl = await describe(service, prNumber2, job);
      if (!compares) return { dashboardUrl };
      const asked = { prNumber: prNumber2, commitSha, branch: branch2, complete };
      const comparison = await compareWithBase(service, job, asked, say);
      say(summary(comparison));
      return { comparison, dashboardUrl };
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      fail(message("not_compared", { problem: messageOf(error) }));
      return { dashboardUrl };
    }
  }
};

// src/action/steps.ts
var WARNING2 = "Warning: ";
var Steps = class {
  constructor(runner, settings, known) {
    this.runner = runner;
    this.settings = settings;
    this.known = known;
  }
  runner;
  settings;
  known;
  /** What failed, in the client's words. */
  #failures = [];
  /** Upload, then post the comment and the summary, even if some files failed. */
  async upload() {
    const { paths, compare: compares, partial, shrink: shrink2, allowEmpty, branch: branch2 } = this.settings;
    if (!paths.length)
      throw new InvalidInputError(
        "The input `paths` is missing: set it to files, folders or globs, one per line."
      );
    const options = { paths, compare: compares, partial, shrink: shrink2, allowEmpty, branch: branch2 };
    const done = await this.#run(async (context) => {
      await moveStaged({}, context);
      return upload(options, context);
    });
    this.runner.outputs(uploadText(done, "github-output"));
    if (done.exitCode === EXIT_CODES.failed)
      return this.#failStep(`No file was uploaded. ${this.#failures[0] ?? "See the log."}`);
    const isShown = done.count ? await this.#show() : await this.#gateIfAsked();
    if (done.exitCode === EXIT_CODES.some_failed)
      return this.#failStep("Some files were not uploaded. See the log.");
    return isShown;
  }
  /** Say that all shards have uploaded, and show the result for a pull request. */
  async complete() {
    const { branch: branch2 } = this.settings;
    try {
      const done = await this.#run((context) => compare({ complete: true, branch: branch2 }, context));
      this.runner.outputs(compareText(done, "github-output"));
    } catch (error) {
      if (error instanceof ComparisonFailedError) {
        this.runner.outputs(compareText(error, "github-output"));
        await this.#gateIfAsked();
      }
      throw error;
    }
    return this.#show();
  }
  async expire() {
    const { branch: branch2, comment: post2 } = this.settings;
    return this.#post(post2, (context) => expire({ post: post2, branch: branch2 }, context));
  }
  /** Post the comment, the summary and the commit status, then fail the step if `fail-on` asks for it. */
  async #show() {
    if (!this.known.environ.PRSHOTS_PR) return true;
    const { view, template, comment: post2 } = this.settings;
    const shown = view && { view };
    const isPosted = !post2 || await this.#post(post2, (context) => comment({ post: post2, template, ...shown }, context));
    if (this.runner.hasSummary) {
      const { markdown } = await this.#run((context) => comment({ ...shown }, context));
      this.runner.summarize(markdown);
    }
    const isGated = await this.#gateIfAsked();
    return isPosted && isGated && await this.#checkVerdicts();
  }
  async #gateIfAsked() {
    return !this.settings.gate || !this.known.environ.PRSHOTS_PR || this.gate();
  }
  /** Set the commit statuses: the state of the review, or why this run takes no screenshots. */
  gate() {
    return this.#post(true, async (context) => {
      const { gate: found, lines } = await gate({ skip: this.settings.gateSkip }, context);
      for (const line of lines) context.say(line);
      if (found) this.runner.output("gate", found.state);
      return {};
    });
  }
  /** Fail the step if a shot has a verdict that `fail-on` names. */
  async #checkVerdicts() {
    const { failOn, approvedPass, branch: branch2 } = this.settings;
    if (!failOn) return true;
    const options = { failOn, approvedPass, branch: branch2 };
    const { gated, dashboardUrl } = await this.#run((context) => compare(options, context));
    if (!gated) return true;
    const dashboard = dashboardUrl && ` ${message("dashboard", { url: dashboardUrl })}`;
    return this.#failStep(`${pluralize(gated, "shot")} matched \`fail-on: ${failOn}\`.${dashboard}`);
  }
  /** Run a command that may post. A job without secrets may be read-only: if it cannot post, only warn. */
  async #post(posts, command) {
    try {
      const { posted } = await this.#run(command);
      if (posted?.url) this.runner.output("comment-url", posted.url);
      return true;
    } catch (error) {
      if (!(error instanceof PrshotsError)) throw error;
      const why = posts && withoutSecrets(this.known.job, this.known.environ);
      if (!why) return this.#failStep(messageOf(error));
      this.runner.annotate(
        "warning",
        `${messageOf(error)} (The job does not fail, because ${why}.) See ${FORKS}`
      );
      return true;
    }
  }
  /** Run a command and print its messages. Its warnings also become annotations. */
  async #run(command) {
    const warnings = [];
    try {
      return await this.runner.withoutCommands((print) => {
        const say = (words2) => {
          print(words2);
          if (words2.startsWith(WARNING2)) warnings.push(words2.slice(WARNING2.length));
        };
        const fail = (words2) => {
          say(words2);
          if (!words2.startsWith(WARNING2)) this.#failures.push(words2);
        };
        return command({ ...this.known, say, fail });
      });
    } finally {
      for (const words2 of warnings) this.runner.annotate("warning", words2);
    }
  }
  #failStep(words2) {
    this.runner.annotate("error", words2);
    return false;
  }
};

// src/action/action.ts
var NOTHING_TO_DO = "This job runs for neither a pull request nor the branch of the baselines: nothing to do.";
var NO_BASELINES = "A step before this one failed, so its screenshots can't be baselines. Nothing was uploaded.";
var NO_BASELINES_OF_RUN = "The workflow run did not succeed, so its screenshots can't be baselines. Nothing was uploaded.";
async function run2(runner, given) {
  const settings = settingsOf(given);
  enter(settings.workingDirectory, given);
  const context = { deadline: deadlineIn({}, given), stopped: new AbortController().signal };
  limitGit(context.deadline);
  const job = await knownJob({ ...context, environ: given, say: () => {
  } });
  const environ = job.prNumber === void 0 ? given : { PRSHOTS_PR: String(job.prNumber), ...given };
  const steps = new Steps(runner, settings, { ...context, environ, job });
  if (settings.gateSkip) return steps.gate();
  const isBaselines = !environ.PRSHOTS_PR && await buildsBaselines(job, settings.branch);
  if (!environ.PRSHOTS_PR && !isBaselines) {
    runner.annotate("notice", NOTHING_TO_DO);
    return true;
  }
  const why = withoutSecrets(job, environ);
  if (why && !hasCredentials(environ)) {
    const words2 = `This job has no secrets because ${why}. Nothing was uploaded. See ${FORKS}`;
    runner.annotate("warning", words2);
    return true;
  }
  if (!job.closed) refuseClosed(job, prIn({}, environ));
  if (job.closed) return steps.expire();
  if (isBaselines && (settings.hasFailed || job.hasFailed)) {
    runner.annotate("notice", job.hasFailed ? NO_BASELINES_OF_RUN : NO_BASELINES);
    return true;
  }
  return settings.complete ? steps.complete() : steps.upload();
}
async function knownJob(context) {
  const { environ } = context;
  const job = detectJob(environ);
  if (job.alreadyClosed) return job;
  const needs = { needsCommit: !environ.PRSHOTS_COMMIT };
  return askForge(job, prIn({}, environ), senderOf(context), needs);
}
function enter(folder, environ) {
  try {
    process.chdir(resolve(environ.GITHUB_WORKSPACE ?? "", folder));
  } catch (error) {
    const { code } = error;
    const reason = code === "ENOENT" ? "there is no such folder" : code;
    throw new InvalidInputError(`The input \`working-directory\` is not usable: '${folder}': ${reason}.`);
  }
}

// src/action/index.ts
async function main() {
  setNames(inputFor);
  const environ = takeEnviron(process.env);
  const runner = new Runner(environ);
  runner.mask(environ.PRSHOTS_TOKEN ?? "");
  const warnings = [throughProxy(environ), ...misspelledVariables(environ)];
  for (const words2 of warnings.filter(Boolean)) runner.annotate("warning", words2);
  try {
    return await run2(runner, environ);
  } catch (error) {
    const isClosed = error instanceof ClosedPullRequestError;
    runner.annotate(isClosed ? "notice" : "error", messageOf(error));
    return isClosed;
  }
}
function takeEnviron(own) {
  const environ = clientEnviron(own);
  for (const name of ["token", "github-token"])
    if (textInput(own, name)) delete own[`INPUT_${name.toUpperCase()}`];
  own.NoDefaultCurrentDirectoryInExePath = "1";
  return environ;
}
process.exitCode = await main() ? 0 : 1;
