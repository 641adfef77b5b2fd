/** What a Playwright project means for its screenshots: viewport and theme, and a label only where these do not differ. */
import type { FullConfig, FullProject, Suite } from "@playwright/test/reporter";

/** The size of a page in Playwright if nobody sets one. */
const DEFAULT_VIEWPORT = { width: 1280, height: 720 };

type Use = FullProject["use"] | undefined;

export interface Screen {
  /** Empty if it is unknown: then it is the image's size. */
  viewport: string;
  /** light, dark or empty. */
  theme: string;
}

/** Return a project's viewport and theme. Playwright leaves both out of merged reports. */
export function screenOf(project: Pick<FullProject, "use"> | undefined, isMerged: boolean): Screen {
  const use: Use = project?.use;
  const viewport = use?.viewport ?? (isMerged ? null : viewportByDefault(use));
  const theme = use?.colorScheme ?? use?.contextOptions?.colorScheme;
  return {
    viewport: viewport ? `${viewport.width}x${viewport.height}` : "",
    theme: theme === "light" || theme === "dark" ? theme : "",
  };
}

/** `viewport: null` is a browser window of any size. */
function viewportByDefault(use: Use): { width: number; height: number } | null {
  if (use?.viewport === null) return null;
  const ofContext = use?.contextOptions?.viewport;
  return ofContext === undefined ? DEFAULT_VIEWPORT : ofContext;
}

/**
 * Return the names of the projects whose screenshots need a label: an earlier project has the same viewport and theme, and
 * the same tests. The earlier one keeps its names, also when a browser is added. The configuration decides, and not only
 * the tests of this run: a shard or `--project` must not change a name.
 */
export function labeledProjects(
  config: Pick<FullConfig, "projects">,
  suite: Suite,
  isMerged: boolean,
): Set<string> {
  const screens = config.projects.map((project) => JSON.stringify(screenOf(project, isMerged)));
  const tests = testsByProject(suite);
  const areAlike = (one: number, other: number) => {
    const [first, second] = [config.projects[one], config.projects[other]];
    if (!first || !second || screens[one] !== screens[other]) return false;
    const own = tests.get(second.name);
    return (
      filesOf(first) === filesOf(second) ||
      (!!own?.size && [...(tests.get(first.name) ?? [])].some((test) => own.has(test)))
    );
  };
  const labeled = config.projects.filter((_, at) =>
    config.projects.slice(0, at).some((_, earlier) => areAlike(earlier, at)),
  );
  return new Set(labeled.map(({ name }) => name));
}

/** Which files a project's tests are in, as it says so. A setup project has others than the project that needs it. */
function filesOf({ testDir, testMatch, testIgnore }: FullProject): string {
  return [testDir, testMatch, testIgnore].map(String).join("\n");
}

function testsByProject(suite: Suite): Map<string, Set<string>> {
  const tests = new Map<string, Set<string>>();
  for (const test of suite.allTests()) {
    const [, project = "", ...rest] = test.titlePath();
    const known = tests.get(project) ?? new Set();
    tests.set(project, known.add(rest.join("\n")));
  }
  return tests;
}
