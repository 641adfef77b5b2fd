/** Ready-to-paste setup snippets for one project. Pure. Each works with the current client and API. */

import type { Project } from "../lib/types";
import { VERSION } from "../lib/version";
import type { IssuerKind } from "../tokens/trust-claims";

export interface Snippet {
  title: string;
  about: string;
  /** Where it goes, if it is a file. */
  file?: string;
  code: string;
}

/** How the job authenticates: with the secret PRSHOTS_TOKEN, or with an ID token from its CI. */
export type Access = "token" | "keyless";

export interface Setup {
  baseUrl: string;
  access: Access;
  project: NamedProject;
}

type NamedProject = Pick<Project, "id" | "name"> & {
  organization: Pick<Project["organization"], "name">;
};

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

/** What a job needs to get an ID token from its CI. */
export function keylessSnippet(kind: IssuerKind, baseUrl: string, project: NamedProject): Snippet {
  return {
    github: {
      title: "Add a permission",
      about:
        "Lets the job request an ID token from GitHub, and names the project. The action and the client use both. Don’t set PRSHOTS_TOKEN.",
      file: ".github/workflows/screenshots.yml",
      code: `${permissions("keyless")}

env:
  PRSHOTS_PROJECT: ${yamlWord(referenceTo(project))}`,
    },
    gitlab: {
      title: "Add an ID token",
      about:
        "GitLab passes it to the job as an environment variable, which the client reads. With our template, set its input project instead. Don’t set PRSHOTS_TOKEN.",
      file: ".gitlab-ci.yml",
      code: `${idTokens(baseUrl)}
variables:
  PRSHOTS_PROJECT: ${yamlWord(referenceTo(project))}`,
    },
    other: {
      title: "Pass an ID token",
      about:
        "Let your CI issue a token for this audience and pass it in this environment variable. Don’t set PRSHOTS_TOKEN.",
      code: `PRSHOTS_URL=${baseUrl}\nPRSHOTS_PROJECT=${referenceTo(project)}\nPRSHOTS_ID_TOKEN=<the ID token, with the audience ${baseUrl}>`,
    },
  }[kind];
}

function permissions(access: Access): string {
  return `permissions:
  contents: read
  pull-requests: write
  statuses: write${access === "keyless" ? "\n  id-token: write" : ""}`;
}

function idTokens(baseUrl: string): string {
  return `id_tokens:
  PRSHOTS_ID_TOKEN:
    aud: ${baseUrl}`;
}

function githubSnippets(setup: Setup): Snippet[] {
  return [
    {
      title: "Add a workflow",
      about:
        "Uploads the screenshots, compares them with the base branch, keeps one comment up to date, sets the check prshots, and deletes the images when the pull request closes. A push to main uploads the baselines to compare with: if your default branch has another name, change it here. Pull requests from forks get no secrets and no ID tokens, so they upload nothing.",
      file: ".github/workflows/screenshots.yml",
      code: screenshotsWorkflow(setup),
    },
  ];
}

/** A test keeps the README's workflow equal to this one. */
export function screenshotsWorkflow(setup: Setup): string {
  const steps = `      - run: npm ci && npm run screenshots   # anything that writes images to screenshots/
        if: github.event.action != 'closed'
      - uses: prshots/prshots@v${VERSION}
        if: \${{ !cancelled() }}
        with:
${actionInputs(setup)}
          paths: screenshots
          gate: true`;
  return githubWorkflow("Screenshots", setup, steps);
}

/** For clients that upload while the tests run: the action only handles closed pull requests. */
function githubTestsSnippet(setup: Setup, commands: string[], gate: string): Snippet {
  const access =
    setup.access === "token"
      ? `PRSHOTS_TOKEN: ${SECRET}`
      : `PRSHOTS_PROJECT: ${yamlWord(referenceTo(setup.project))}`;
  const variables = `        env:
          PRSHOTS_URL: ${setup.baseUrl}
          ${access}
          GITHUB_TOKEN: \${{ github.token }}`;
  const steps = `      - run: |
${commands.map((command) => `          ${command}`).join("\n")}
        if: github.event.action != 'closed'
${variables}
      - run: ${gate}   # sets the check
        if: \${{ !cancelled() && github.event.action != 'closed' }}
${variables}
      - uses: prshots/prshots@v${VERSION}
        if: github.event.action == 'closed'
        with:
${actionInputs(setup)}`;
  return {
    title: "Run it on GitHub",
    about:
      "Runs the tests, posts the comment when they finish, sets the check prshots, and deletes the images when the pull request closes. A push to main uploads the baselines to compare with: if your default branch has another name, change it here.",
    file: ".github/workflows/tests.yml",
    code: githubWorkflow("Tests", setup, steps),
  };
}

function githubWorkflow(name: string, { access }: Setup, steps: string): string {
  return `name: ${name}
on:
  push:
    branches: [main]   # the baselines to compare with
  pull_request:
    types: [opened, synchronize, reopened, closed]
${permissions(access)}
jobs:
  ${name.toLowerCase()}:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
        if: github.event.action != 'closed'
${steps}
`;
}

const SECRET = `\${{ secrets.PRSHOTS_TOKEN }}`;

function actionInputs({ baseUrl, access, project }: Setup): string {
  const given = access === "token" ? `token: ${SECRET}` : `project: ${yamlWord(referenceTo(project))}`;
  return `          url: ${baseUrl}
          ${given}`;
}

/** How a job names the project for keyless upload. The first slash separates organization and project. */
export function referenceTo({ id, name, organization }: NamedProject): string {
  return organization.name.includes("/") ? id : `${organization.name}/${name}`;
}

function gitlabSnippets({ baseUrl, access, project }: Setup): Snippet[] {
  const named = access === "token" ? "" : `\n      project: ${yamlWord(referenceTo(project))}`;
  const variables =
    access === "token"
      ? "Add PRSHOTS_TOKEN and GITLAB_TOKEN as CI/CD variables, masked but not protected."
      : "Add GITLAB_TOKEN as a CI/CD variable, masked but not protected.";
  return [
    {
      title: "Add an include",
      about: `Uploads the screenshots, compares them with the target branch, keeps one comment up to date, sets the check prshots, and deletes the images when the merge request is merged or closed. Pipelines of the default branch upload the baselines to compare with. ${variables} GITLAB_TOKEN is a project access token with the api scope and the role Developer; it writes the comment and sets the check.`,
      file: ".gitlab-ci.yml",
      code: `include:
  - remote: https://raw.githubusercontent.com/prshots/prshots/v${VERSION}/templates/prshots.yml
    inputs:
      url: ${baseUrl}${named}
      paths: screenshots
      gate: true

screenshots:
  stage: test
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  script:
    # Replace this with the step that writes images to screenshots/
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
      title: "Install the reporter",
      about:
        "Uploads the screenshots that tests attach during the run, and posts the comment at the end. On the default branch, it uploads them as baselines. Anywhere else, for example on your own machine, it does nothing.",
      code: `npm install --save-dev --save-exact prshots@${VERSION}`,
    },
    {
      title: "Add it to the configuration",
      about:
        'Keep your other reporters. With screenshot: "on", each test attaches a screenshot when it ends.',
      file: "playwright.config.ts",
      code: `import { defineConfig } from "@playwright/test";

export default defineConfig({
  reporter: [["list"], ["prshots/playwright", { url: "${setup.baseUrl}" }]],
  use: { screenshot: "on" },
});`,
    },
    githubTestsSnippet(
      setup,
      ["npm ci", "npx playwright install --with-deps", "npx playwright test"],
      `npx --yes prshots@${VERSION} gate`,
    ),
  ];
}

function pytestSnippets(setup: Setup): Snippet[] {
  return [
    {
      title: "Take a screenshot in a test",
      about:
        "Takes a Playwright page, a Selenium driver, a file or bytes. A failing test that uses a page gets a screenshot automatically.",
      code: `def test_cart(page, shot):
    page.goto("http://localhost:8000/cart")
    shot(page, name="checkout/cart")`,
    },
    githubTestsSnippet(
      setup,
      [
        `pip install . pytest-playwright 'prshots[pytest]==${VERSION}'`,
        "playwright install --with-deps chromium",
        "pytest --prshots-post",
      ],
      "prshots gate",
    ),
  ];
}

function commandSnippets({ baseUrl, access, project }: Setup): Snippet[] {
  const name = shellWord(project.name);
  const named = access === "token" ? "" : `\nexport PRSHOTS_PROJECT=${shellWord(referenceTo(project))}`;
  return [
    {
      title: "Upload in a CI job",
      about: `Uploads and compares a pull request’s screenshots. On the default branch, it uploads them as baselines, so run the job there too. Detects the pull request and commit in GitHub, Gitea and Forgejo Actions, GitLab, Bitbucket, CircleCI, Buildkite, Jenkins, Azure and Woodpecker. ${NEEDS[access]} To write the comment and set the check, it needs a token for the forge, such as GITHUB_TOKEN. Without Node, use the Python client: pip install prshots==${VERSION}.`,
      code: `export PRSHOTS_URL=${baseUrl}${named}
npx --yes prshots@${VERSION} upload screenshots
npx --yes prshots@${VERSION} comment --post
npx --yes prshots@${VERSION} gate`,
    },
    {
      title: "Expire the images when the pull request closes",
      about: "Deletes the images according to the project’s retention settings, and updates the comment.",
      code: `npx --yes prshots@${VERSION} expire --post`,
    },
    {
      title: "Manage the project on the server",
      about:
        "Creates tokens and changes settings from a script. Only the token is written to standard output.",
      code: `prshots token create ${name} --label nightly
prshots token list ${name}
prshots project set ${name} --policy pr_close --retain-days 90`,
    },
  ];
}

const NEEDS: Record<Access, string> = {
  token: "The job needs the secret PRSHOTS_TOKEN as an environment variable.",
  keyless: "The job uses its ID token from GitHub or GitLab.",
};

const AUTHORIZATION = '-H "Authorization: Bearer $PRSHOTS_TOKEN"';

function curlSnippets({ baseUrl, access, project }: Setup): Snippet[] {
  return [
    ...(access === "keyless" ? [exchangeSnippet(baseUrl, project)] : []),
    {
      title: "Upload a screenshot",
      about: "Takes PNG, JPEG or WebP. The response contains the URL and markdown to paste.",
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
        "Returns markdown with all screenshots of a pull request. Its first line is a marker: use it to find and update your comment instead of adding another.",
      code: `curl "${baseUrl}/v1/comment?pr_number=1" \\
  ${AUTHORIZATION}`,
    },
    {
      title: "Get the commit statuses",
      about:
        "Returns the commit statuses to set on the pull request’s newest commit, each with its name, state and description. Set all of them.",
      code: `curl "${baseUrl}/v1/gate?pr_number=1" \\
  ${AUTHORIZATION}`,
    },
    {
      title: "Expire the images when the pull request closes",
      about: "Deletes the images according to the project’s retention settings.",
      code: `curl ${baseUrl}/v1/expire \\
  ${AUTHORIZATION} \\
  -H "Content-Type: application/json" \\
  -d '{"pr_number": 1}'`,
    },
  ];
}

function exchangeSnippet(baseUrl: string, { id }: NamedProject): Snippet {
  return {
    title: "Get a token for 15 minutes",
    about: `Exchanges the job’s ID token. Its audience must be ${baseUrl}. The project is named by its id.`,
    code: `PRSHOTS_TOKEN=$(curl -sS --fail-with-body ${baseUrl}/v1/oidc/token \\
  -H "Content-Type: application/json" \\
  -d "{\\"id_token\\": \\"$PRSHOTS_ID_TOKEN\\", \\"project\\": \\"${id}\\"}" | jq -r .token)`,
  };
}

/** Quoted for YAML if needed. */
export function yamlWord(text: string): string {
  return /^[A-Za-z][\w./-]*$/.test(text) ? text : JSON.stringify(text);
}

/** Quoted for a shell if needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
