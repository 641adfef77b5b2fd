/** Projects and tests as Playwright hands them to a reporter. */

export function aProject(name, use = {}, files = {}) {
  return { name, use, testDir: "/shop", testMatch: "**/*.spec.ts", testIgnore: [], ...files };
}

export function aTest(title, { project = aProject(""), file = "shop.spec.ts", groups = [], ...rest } = {}) {
  return {
    titlePath: () => ["", project.name, file, ...groups, title],
    parent: { project: () => project },
    title,
    repeatEachIndex: 0,
    retries: 0,
    expectedStatus: "passed",
    ...rest,
  };
}
