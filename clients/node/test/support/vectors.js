// Test vectors that both clients must pass: this reporter here, the Python client in pytest.
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** Return the vectors of one file, such as `ci_detection`. */
export function vectors(name) {
  const address = new URL(`../../../../tests/vectors/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(address, "utf8"));
}

/** Run a test for each case of a section. */
export function testCases(name, section, run) {
  for (const [number, vector] of vectors(name)[section].entries()) {
    const title = `${name}, ${section}: ${vector.case ?? number}`;
    test(title, { skip: vector.not_in_node ?? false }, () => run(vector));
  }
}

/** Return an object with the same keys in camelCase, and undefined for null. */
export function inCamelCase(fields) {
  const camelCase = (key) => key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [camelCase(key), value ?? undefined]),
  );
}
