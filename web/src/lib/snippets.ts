/** Ready-to-paste set-ups for one project. Pure. Every one of them works with the API as it is. */

export interface Snippet {
  title: string;
  about: string;
  /** Where it goes, if it is a file. */
  file?: string;
  code: string;
}

const AUTHORIZATION = '-H "Authorization: Bearer $PRSHOTS_TOKEN"';
const CURL = "curl -sS --fail-with-body";

export function curlSnippets(baseUrl: string): Snippet[] {
  return [
    {
      title: "Upload a screenshot",
      about: "PNG, JPEG or WebP. The answer holds its address and markdown to paste.",
      code: `curl ${baseUrl}/v1/upload \\
  ${AUTHORIZATION} \\
  -F image=@screenshot.png \\
  -F name=checkout/cart \\
  -F pr_number=1 \\
  -F commit_sha=$(git rev-parse HEAD) \\
  -F viewport=1280x800`,
    },
    {
      title: "Get the comment",
      about:
        "One markdown text with all screenshots of a pull request. Its first line marks it, so that you find and update your comment instead of adding another.",
      code: `curl "${baseUrl}/v1/comment?pr_number=1" \\
  ${AUTHORIZATION}`,
    },
    {
      title: "When the pull request closes",
      about: "Lets the images go as the project’s settings say.",
      code: `curl ${baseUrl}/v1/expire \\
  ${AUTHORIZATION} \\
  -H "Content-Type: application/json" \\
  -d '{"pr_number": 1}'`,
    },
  ];
}

export function githubSnippets(baseUrl: string): Snippet[] {
  return [
    {
      title: "One workflow",
      about:
        "Uploads every PNG in screenshots/, keeps one comment current, and lets the images go when the pull request closes. Pull requests from forks see no secrets, so they are left out.",
      file: ".github/workflows/screenshots.yml",
      code: githubWorkflow(baseUrl),
    },
  ];
}

export function gitlabSnippets(baseUrl: string): Snippet[] {
  return [
    {
      title: "Two jobs",
      about:
        "The first uploads every PNG in screenshots/ and keeps one note current; the second lets the images go after the merge. GITLAB_TOKEN is a project access token with the api scope, kept as a masked variable like PRSHOTS_TOKEN. GitLab starts no pipeline for a merge request closed without a merge: set a number of days in Settings, so that its images go too.",
      file: ".gitlab-ci.yml",
      code: gitlabJobs(baseUrl),
    },
  ];
}

export function commandSnippets(projectName: string): Snippet[] {
  const name = shellWord(projectName);
  return [
    {
      title: "Tokens from a script",
      about: "On the machine that runs the service. The token is all that goes to standard output.",
      code: `PRSHOTS_TOKEN=$(prshots token create ${name} --label nightly)`,
    },
    {
      title: "Look and change",
      about: "These work while the service runs and while it does not.",
      code: `prshots token list ${name}
prshots token revoke <id>
prshots project set ${name} --policy pr_close --retain-days 90
prshots project list`,
    },
  ];
}

/** Quoted for a shell where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function uploads(pullRequest: string, commit: string): string {
  return `for file in screenshots/*.png; do
  ${CURL} --retry 5 "$PRSHOTS_URL/v1/upload" \\
    ${AUTHORIZATION} \\
    -F "image=@\\"$file\\"" --form-string "name=$(basename "$file" .png)" \\
    -F "pr_number=${pullRequest}" -F "commit_sha=${commit}" -F viewport=1280x800
done`;
}

function comment(pullRequest: string, file: string): string {
  return `${CURL} "$PRSHOTS_URL/v1/comment?pr_number=${pullRequest}" \\
  ${AUTHORIZATION} > answer.json
jq '{body: .markdown}' answer.json > ${file}`;
}

function expire(pullRequest: string): string {
  return `${CURL} "$PRSHOTS_URL/v1/expire" \\
  ${AUTHORIZATION} \\
  -H "Content-Type: application/json" -d "{\\"pr_number\\": ${pullRequest}}"`;
}

function githubWorkflow(baseUrl: string): string {
  return `name: Screenshots
on:
  pull_request:
    types: [opened, synchronize, reopened, closed]

permissions:
  contents: read
  pull-requests: write

env:
  PRSHOTS_URL: ${baseUrl}
  PRSHOTS_TOKEN: \${{ secrets.PRSHOTS_TOKEN }}
  PR: \${{ github.event.pull_request.number }}
  SHA: \${{ github.event.pull_request.head.sha }}
  OURS: \${{ github.event.pull_request.head.repo.full_name == github.repository }}

jobs:
  upload:
    if: github.event.action != 'closed'
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4

      # Your step here: whatever leaves PNG files in screenshots/
      - run: npm ci && npm run screenshots

      - name: Upload the screenshots
        if: env.OURS == 'true'
        run: |
${indent(uploads("$PR", "$SHA"), 10)}

      - name: Post or update the comment
        if: env.OURS == 'true'
        env:
          GH_TOKEN: \${{ github.token }}
        run: |
${indent(comment("$PR", "comment.json"), 10)}
          id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PR/comments" \\
            --jq '.[] | select(.body | startswith("<!-- svc:pr-")) | .id' | tail -n 1)
          if [ -n "$id" ]; then
            gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --input comment.json
          else
            gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PR/comments" --input comment.json
          fi

  expire:
    if: github.event.action == 'closed'
    runs-on: ubuntu-latest
    steps:
      - if: env.OURS == 'true'
        run: |
${indent(expire("$PR"), 10)}
`;
}

function gitlabJobs(baseUrl: string): string {
  return `variables:
  PRSHOTS_URL: ${baseUrl}

screenshots:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    # Your step here: whatever leaves PNG files in screenshots/. The image needs curl and jq.
    - npm ci && npm run screenshots
    - |
      sha=\${CI_MERGE_REQUEST_SOURCE_BRANCH_SHA:-$CI_COMMIT_SHA}
${indent(uploads("$CI_MERGE_REQUEST_IID", "$sha"), 6)}
    - |
${indent(comment("$CI_MERGE_REQUEST_IID", "note.json"), 6)}
      notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
      ${CURL} "$notes?sort=asc&per_page=100" -H "PRIVATE-TOKEN: $GITLAB_TOKEN" > notes.json
      id=$(jq 'map(select(.body | startswith("<!-- svc:pr-")))[0].id // empty' notes.json)
      if [ -n "$id" ]; then method=PUT; else method=POST; fi
      ${CURL} -X "$method" -H "PRIVATE-TOKEN: $GITLAB_TOKEN" \\
        -H "Content-Type: application/json" -d @note.json "$notes\${id:+/$id}"

expire-screenshots:
  rules:
    - if: $CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
    - |
      commit="$CI_API_V4_URL/projects/$CI_PROJECT_ID/repository/commits/$CI_COMMIT_SHA"
      ${CURL} "$commit/merge_requests" -H "PRIVATE-TOKEN: $GITLAB_TOKEN" > merged.json
      for iid in $(jq '.[] | select(.state == "merged") | .iid' merged.json); do
${indent(expire("$iid"), 8)}
      done
`;
}

function indent(text: string, spaces: number): string {
  return text.replace(/^/gm, " ".repeat(spaces));
}
