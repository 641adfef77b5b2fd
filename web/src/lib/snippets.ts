/** Ready-to-paste set-ups for one project. Pure. Every one of them works with the client and the API as they are. */

import type { Kind } from "./trusts";

export interface Snippet {
  title: string;
  about: string;
  /** Where it goes, if it is a file. */
  file?: string;
  code: string;
}

/** How the job shows that it may upload: with the secret PRSHOTS_TOKEN, or with its CI's word for it. */
export type Access = "token" | "keyless";

export interface Setup {
  baseUrl: string;
  access: Access;
  projectName: string;
}

export const WAYS = [
  { id: "github", label: "GitHub Actions" },
  { id: "gitlab", label: "GitLab CI" },
  { id: "playwright", label: "Playwright" },
  { id: "pytest", label: "pytest" },
  { id: "cli", label: "Command line" },
  { id: "curl", label: "curl" },
] as const;

export type Way = (typeof WAYS)[number]["id"];

export function snippetsFor(way: Way, setup: Setup): Snippet[] {
  return {
    github: githubSnippets,
    gitlab: gitlabSnippets,
    playwright: playwrightSnippets,
    pytest: pytestSnippets,
    cli: commandSnippets,
    curl: curlSnippets,
  }[way](setup);
}

/** What a job has to say so that its CI vouches for it. */
export function keylessSnippet(kind: Kind, baseUrl: string): Snippet {
  return {
    github: {
      title: "A permission",
      about:
        "With it the job may ask GitHub for an ID token; the action and the client then do the rest. No PRSHOTS_TOKEN is set.",
      file: ".github/workflows/screenshots.yml",
      code: permissions("keyless"),
    },
    gitlab: {
      title: "An ID token",
      about:
        "GitLab puts it into the job’s environment, where the client finds it. Our template has these lines already. No PRSHOTS_TOKEN is set.",
      file: ".gitlab-ci.yml",
      code: idTokens(baseUrl),
    },
    other: {
      title: "An ID token in the environment",
      about:
        "Have your CI issue one for this audience, and the client takes it from there. No PRSHOTS_TOKEN is set.",
      code: `PRSHOTS_URL=${baseUrl}\nPRSHOTS_ID_TOKEN=<the ID token, with the audience ${baseUrl}>`,
    },
  }[kind];
}

function permissions(access: Access): string {
  return `permissions:
  contents: read
  pull-requests: write${access === "keyless" ? "\n  id-token: write" : ""}`;
}

function idTokens(baseUrl: string): string {
  return `id_tokens:
  PRSHOTS_ID_TOKEN:
    aud: ${baseUrl}`;
}

function githubSnippets(setup: Setup): Snippet[] {
  const steps = `      # Your step here: whatever leaves images in screenshots/
      - if: github.event.action != 'closed'
        run: npm ci && npm run screenshots

      - if: \${{ !cancelled() }}
        uses: prshots/prshots@v0
        with:
${actionInputs(setup)}
          paths: screenshots`;
  return [
    {
      title: "One workflow",
      about:
        "Uploads the screenshots, keeps one comment current, and lets the images go when the pull request closes. Pull requests from forks are given neither secrets nor ID tokens, so nothing is sent for them.",
      file: ".github/workflows/screenshots.yml",
      code: githubWorkflow("Screenshots", setup, steps),
    },
  ];
}

/** For what uploads while it runs the tests: the action is there for the end. */
function testsOnGithub(setup: Setup, commands: string[]): Snippet {
  const secret = setup.access === "token" ? `\n          PRSHOTS_TOKEN: ${SECRET}` : "";
  const steps = `      - if: github.event.action != 'closed'
        run: |
${commands.map((command) => `          ${command}`).join("\n")}
        env:
          PRSHOTS_URL: ${setup.baseUrl}${secret}
          GITHUB_TOKEN: \${{ github.token }}

      - if: github.event.action == 'closed'
        uses: prshots/prshots@v0
        with:
${actionInputs(setup)}`;
  return {
    title: "On GitHub",
    about:
      "Runs the tests, posts the comment when they have ended, and lets the images go when the pull request closes.",
    file: ".github/workflows/tests.yml",
    code: githubWorkflow("Tests", setup, steps),
  };
}

function githubWorkflow(name: string, { access }: Setup, steps: string): string {
  return `name: ${name}
on:
  pull_request:
    types: [opened, synchronize, reopened, closed]

${permissions(access)}

jobs:
  ${name.toLowerCase()}:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5

${steps}
`;
}

const SECRET = `\${{ secrets.PRSHOTS_TOKEN }}`;

function actionInputs({ baseUrl, access }: Setup): string {
  return `          url: ${baseUrl}${access === "token" ? `\n          token: ${SECRET}` : ""}`;
}

function gitlabSnippets({ baseUrl, access }: Setup): Snippet[] {
  const variables =
    access === "token" ? "PRSHOTS_TOKEN and GITLAB_TOKEN are variables" : "GITLAB_TOKEN is a variable";
  return [
    {
      title: "One include",
      about: `Its two jobs upload the screenshots and keep one note current, and let the images go when the merge request is merged or closed. ${variables} of the project, masked and not protected; GITLAB_TOKEN, a project access token with the api scope, writes the note.`,
      file: ".gitlab-ci.yml",
      code: `include:
  - remote: https://raw.githubusercontent.com/prshots/prshots/v0/templates/prshots.yml
    inputs:
      url: ${baseUrl}
      paths: screenshots

screenshots:
  stage: test
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    # Your step here: whatever leaves images in screenshots/
    - npm ci && npm run screenshots
  artifacts:
    when: always
    paths: [screenshots]
`,
    },
  ];
}

function playwrightSnippets(setup: Setup): Snippet[] {
  return [
    {
      title: "The reporter",
      about:
        "Uploads the screenshots that tests attach while the run goes on, and posts the comment at its end. Without a pull request, as on your own machine, it does nothing.",
      code: "npm install --save-dev @prshots/playwright",
    },
    {
      title: "In the configuration",
      about: 'Beside the reporter that you have. With screenshot: "on", each test attaches one at its end.',
      file: "playwright.config.ts",
      code: `import { defineConfig } from "@playwright/test";

export default defineConfig({
  reporter: [["list"], ["@prshots/playwright", { url: "${setup.baseUrl}" }]],
  use: { screenshot: "on" },
});`,
    },
    testsOnGithub(setup, ["npm ci", "npx playwright install --with-deps", "npx playwright test"]),
  ];
}

function pytestSnippets(setup: Setup): Snippet[] {
  return [
    {
      title: "In a test",
      about:
        "Of a Playwright page, a Selenium driver, a file or bytes. A test that fails and has a page gets one by itself.",
      code: `def test_cart(page, shot):
    page.goto("http://localhost:8000/cart")
    shot(page, name="checkout/cart")`,
    },
    testsOnGithub(setup, [
      "pip install . pytest-playwright 'prshots[pytest]'",
      "playwright install --with-deps chromium",
      "pytest --prshots-post",
    ]),
  ];
}

function commandSnippets({ baseUrl, access, projectName }: Setup): Snippet[] {
  const name = shellWord(projectName);
  return [
    {
      title: "In a CI job",
      about: `The pull request and the commit are found by themselves in GitHub, Gitea and Forgejo Actions, GitLab, Bitbucket, CircleCI, Buildkite, Jenkins, Azure and Woodpecker. ${NEEDS[access]} The comment is written with a token of the forge, such as GITHUB_TOKEN.`,
      code: `pip install prshots
export PRSHOTS_URL=${baseUrl}
prshots upload screenshots
prshots comment --post`,
    },
    {
      title: "When the pull request closes",
      about: "Lets the images go as the project’s settings say, and says so in the comment.",
      code: "prshots expire --post",
    },
    {
      title: "Where the service runs",
      about: "Tokens and settings from a script. The token is all that goes to standard output.",
      code: `prshots token create ${name} --label nightly
prshots token list ${name}
prshots project set ${name} --policy pr_close --retain-days 90`,
    },
  ];
}

const NEEDS: Record<Access, string> = {
  token: "The job has the secret PRSHOTS_TOKEN in its environment.",
  keyless: "The job has its ID token from GitHub or GitLab, and needs no other.",
};

const AUTHORIZATION = '-H "Authorization: Bearer $PRSHOTS_TOKEN"';

function curlSnippets({ baseUrl, access }: Setup): Snippet[] {
  return [
    ...(access === "keyless" ? [exchange(baseUrl)] : []),
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

function exchange(baseUrl: string): Snippet {
  return {
    title: "A token for 15 minutes",
    about: `For the job’s ID token, whose audience is ${baseUrl}.`,
    code: `PRSHOTS_TOKEN=$(curl -sS --fail-with-body ${baseUrl}/v1/oidc/token \\
  -H "Content-Type: application/json" \\
  -d "{\\"id_token\\": \\"$PRSHOTS_ID_TOKEN\\"}" | jq -r .token)`,
  };
}

/** Quoted for a shell where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
