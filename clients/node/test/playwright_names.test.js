import assert from "node:assert/strict";
import { test } from "node:test";
import { screenshotsIn } from "../dist/playwright/attachments.js";
import { Projects, screenOf } from "../dist/playwright/projects.js";
import { titleOf } from "../dist/playwright/titles.js";
import { aProject, aTest } from "./support/playwright_tests.js";

const NO_TESTS = { allTests: () => [] };
const MOBILE = { viewport: { width: 390, height: 844 } };
const OWN = { viewport: "", theme: "" };

function titled(name, { of = {}, title = "says so", projects = [], naming, failed = false } = {}) {
  const { project = aProject("", { viewport: null }) } = of;
  const given = aTest(title, { groups: ["empty"], file: "shop/cart.spec.ts", ...of, project });
  const known = new Projects([...projects, project], NO_TESTS, false);
  return titleOf(given, { name, isOfFailure: failed }, known, naming);
}

test("a screenshot is named after its test and its attachment", () => {
  const test = "shop/cart/empty/says so";
  assert.deepEqual(titled("cart.png"), { name: `${test}/cart`, viewport: "", theme: "" });
  assert.equal(titled("").name, test);
  assert.equal(titled("", { failed: true }).name, `failed/${test}`);
  assert.equal(titled("a", { of: { repeatEachIndex: 2 } }).name, `${test}/a (repeat 2)`);
});

test("the viewport and theme are the attachment's own, otherwise the project's", () => {
  const of = { project: aProject("dark", { colorScheme: "dark" }) };
  const at = (name) => Object.values(titled(name, { of })).slice(1).join(" ");
  assert.equal(at("cart"), "1280x720 dark");
  assert.equal(at("cart@390x844"), "390x844 dark");
  assert.equal(at("cart@390x844@2x.light.png"), "390x844 light");
});

test("a name has one line, no white space runs, and no folder that a title's slash would start", () => {
  const title = "\n      shows\tthe  cart\r\n      of /users/7\u00a0\u2028 ";
  assert.equal(titled("a\nb\n", { title }).name, "shop/cart/empty/shows the cart of ∕users∕7/a b");
  assert.equal(titled("checkout / total").name, "shop/cart/empty/says so/checkout/total");
});

test("a project is named at the end if an earlier one has the same shot", () => {
  const of = { project: aProject("fire/fox"), repeatEachIndex: 1 };
  const projects = [aProject("chromium")];
  assert.equal(titled("a", { of, projects }).name, "shop/cart/empty/says so/a (fire∕fox, repeat 1)");
  assert.equal(titled("a", { of }).name, "shop/cart/empty/says so/a (repeat 1)");
});

test("the option name makes names by a template or a function", () => {
  const of = { project: aProject("firefox") };
  const projects = [aProject("chromium")];
  const by = (naming, more) => titled("a@1x1", { of, projects, naming, ...more }).name;
  assert.equal(by("{test}/{attachment}"), "says so/a (firefox)");
  assert.equal(by("{project}/{groups}/{test}"), "firefox/empty/says so");
  assert.equal(by("all/{file}"), "all/shop/cart (firefox)");
  const made = ({ file, titles, attachment, project, test }) =>
    [project, file, ...titles, attachment, test.title].join("\n");
  assert.equal(by(made), "firefox shop/cart empty says so a says so");
  assert.equal(
    by(({ titles }) => titles[0], { failed: true }),
    "failed/empty",
  );
  assert.equal(
    by(() => " "),
    "shop/cart/empty/says so/a",
  );
});

test("a project's viewport and theme are what its pages have", () => {
  const screen = (use, isMerged = false) => Object.values(screenOf({ use }, isMerged)).join(" ");
  assert.equal(screen({}), "1280x720 ");
  assert.equal(screen({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 3 }), "390x844 ");
  assert.equal(screen({ colorScheme: "dark" }), "1280x720 dark");
  assert.equal(screen({ colorScheme: "no-preference" }), "1280x720 ");
  assert.equal(screen({ viewport: null, colorScheme: "light" }), " light");
  assert.equal(screen({ contextOptions: { viewport: null, colorScheme: "dark" } }), " dark");
  assert.equal(screen({}, true), " "); // a merged report does not say
});

test("a shot is ambiguous if an earlier project has the same viewport, theme and tests", () => {
  const ambiguous = (projects, tests = [], own = OWN) => {
    const known = new Projects(projects, { allTests: () => tests }, false);
    return projects.map(({ name }) => name).filter((name) => known.isAmbiguous(name, own));
  };
  const browsers = ["chromium", "firefox", "webkit"].map((name) => aProject(name));
  assert.deepEqual(ambiguous([...browsers, aProject("mobile", MOBILE)]), ["firefox", "webkit"]);
  const dark = aProject("dark", { colorScheme: "dark" });
  assert.deepEqual(ambiguous([aProject("desktop"), aProject("mobile", MOBILE), dark]), []);
  const sharp = aProject("sharp", { ...MOBILE, deviceScaleFactor: 2 });
  assert.deepEqual(ambiguous([aProject("mobile", MOBILE), sharp]), ["sharp"]);

  // A viewport in the attachment's name is the same in each project.
  const three = [aProject("desktop"), aProject("mobile", MOBILE), dark];
  assert.deepEqual(ambiguous(three, [], { viewport: "500x300", theme: "" }), ["mobile"]);
  assert.deepEqual(ambiguous(three, [], { viewport: "500x300", theme: "light" }), ["mobile", "dark"]);

  // A setup project has other tests, unless a test is in both.
  const setup = aProject("setup", {}, { testMatch: /setup/ });
  const chromium = aProject("chromium");
  assert.deepEqual(ambiguous([setup, chromium]), []);
  const both = [aTest("signs in", { project: setup }), aTest("signs in", { project: chromium })];
  assert.deepEqual(ambiguous([setup, chromium], both), ["chromium"]);
  assert.deepEqual(ambiguous([setup, chromium], [both[0], aTest("buys", { project: chromium })]), []);
});

test("the images of a toHaveScreenshot are one screenshot with the one before", () => {
  const image = (name, path) => ({ name, path, contentType: "image/png" });
  const names = (...images) =>
    screenshotsIn(images).map(({ name, picture, before }) => [name, picture.name, before?.name]);
  const [expected, actual, diff] = ["expected", "actual", "diff"].map((role) => image(`home-${role}.png`));
  assert.deepEqual(names(expected, actual, diff), [["home.png", "home-actual.png", "home-expected.png"]]);
  assert.deepEqual(names(image("home-previous.png"), actual, diff), [
    ["home.png", "home-actual.png", undefined],
  ]);
  assert.deepEqual(names(actual), [["home.png", "home-actual.png", undefined]]);
  assert.deepEqual(names(expected, diff, image("cart-actual")), [
    ["home-expected.png", "home-expected.png", undefined],
    ["home-diff.png", "home-diff.png", undefined],
    ["cart-actual", "cart-actual", undefined],
  ]);
  const again = [image("home-expected.png", "2"), image("home-actual.png", "2")];
  const befores = screenshotsIn([expected, actual, ...again]).map(({ before }) => before);
  assert.deepEqual(befores, [expected, again[0]]);
  assert.deepEqual(screenshotsIn([{ name: "log", contentType: "text/plain" }]), []);
});

test("what Playwright takes itself has no name, and says whether the test failed", () => {
  const taken = (path) => screenshotsIn([{ name: "screenshot", path, contentType: "image/png" }])[0];
  assert.deepEqual(
    [taken("/out/test-failed-1.png").name, taken("/out/test-failed-1.png").isOfFailure],
    ["", true],
  );
  assert.equal(taken("/out/test-finished-1.png").isOfFailure, false);
});
