/** What a Playwright project means for its screenshots: viewport and theme, and a label only where these do not differ. */
import type { FullProject, Suite } from "@playwright/test/reporter";

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
export function screenOf(project: Pick<FullProject, "use">, isMerged: boolean): Screen {
  const use: Use = project.use;
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

/** The projects of a run. */
export class Projects {
  readonly #screens = new Map<string, Screen>();
  /** The viewports and themes of earlier projects that have the same tests. */
  readonly #earlier = new Map<string, Screen[]>();

  /**
   * The configuration decides which projects have the same tests, and not only the tests of this run: a shard or
   * `--project` must not change a name.
   */
  constructor(projects: readonly FullProject[], suite: Suite, isMerged: boolean) {
    const tests = testsByProject(suite);
    const testsOf = ({ name }: FullProject) => tests.get(name) ?? new Set();
    const areAlike = (one: FullProject, other: FullProject) =>
      filesOf(one) === filesOf(other) || [...testsOf(one)].some((test) => testsOf(other).has(test));
    for (const [at, project] of projects.entries()) {
      const earlier = projects.slice(0, at).filter((each) => areAlike(each, project));
      this.#earlier.set(
        project.name,
        earlier.map((each) => screenOf(each, isMerged)),
      );
      this.#screens.set(project.name, screenOf(project, isMerged));
    }
  }

  /** Return a screenshot's viewport and theme: its own, otherwise the project's. */
  screen(project: string, own: Screen): Screen {
    return withOwn(this.#screens.get(project) ?? NO_SCREEN, own);
  }

  /**
   * Return whether a screenshot needs the project's name, because an earlier project has the same one with the same
   * viewport and theme. The earlier one keeps its name, even when a browser is added.
   */
  isAmbiguous(project: string, own: Screen): boolean {
    const { viewport, theme } = this.screen(project, own);
    const earlier = (this.#earlier.get(project) ?? []).map((screen) => withOwn(screen, own));
    return earlier.some((screen) => screen.viewport === viewport && screen.theme === theme);
  }
}

const NO_SCREEN: Screen = { viewport: "", theme: "" };

function withOwn(screen: Screen, own: Screen): Screen {
  return { viewport: own.viewport || screen.viewport, theme: own.theme || screen.theme };
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
