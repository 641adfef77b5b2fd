import { expect, test } from "vitest";
import { actionOf, pageActionOf, swiped } from "./keys";

const key = (name: string, more = {}) => ({
  key: name,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

const still = { x: false, y: false };
const large = { x: true, y: true };

test("arrow keys move through the gallery and its commits", () => {
  expect(actionOf(key("ArrowRight"), still)).toEqual({ do: "go", step: "next" });
  expect(actionOf(key("ArrowDown"), still)).toEqual({ do: "go", step: "older" });
});

test("when zoomed in, arrow keys pan, and with Shift they open another image", () => {
  expect(actionOf(key("ArrowRight"), large)).toEqual({ do: "pan", x: 1, y: 0 });
  expect(actionOf(key("ArrowRight", { shiftKey: true }), large)).toEqual({ do: "go", step: "next" });
});

test("on a long page, up and down move over it, and left and right go to another image", () => {
  const long = { x: false, y: true };
  expect(actionOf(key("ArrowDown"), long)).toEqual({ do: "pan", x: 0, y: 1 });
  expect(actionOf(key("ArrowRight"), long)).toEqual({ do: "go", step: "next" });
});

test("j and k go to the next and previous shot, / to the filter and ? to the help", () => {
  expect(actionOf(key("j"), large)).toEqual({ do: "go", step: "next" });
  expect(actionOf(key("K"), still)).toEqual({ do: "go", step: "previous" });
  expect(actionOf(key("?", { shiftKey: true }), still)).toEqual({ do: "help" });
  expect(["/", "j", "k", "?", "x"].map((name) => pageActionOf(key(name)))).toEqual([
    "filter",
    "next",
    "previous",
    "help",
    null,
  ]);
  expect(pageActionOf(key("k", { metaKey: true }))).toBeNull();
});

test("browser shortcuts still work", () => {
  expect(actionOf(key("ArrowLeft", { altKey: true }), still)).toBeNull();
  expect(actionOf(key("-", { ctrlKey: true }), still)).toBeNull();
  expect(actionOf(key("Tab"), still)).toBeNull();
});

test("zoom keys work in upper and lower case, and with = or +", () => {
  expect(actionOf(key("Z", { shiftKey: true }), still)).toEqual({ do: "zoom", how: "toggle" });
  expect(actionOf(key("="), still)).toEqual({ do: "zoom", how: "in" });
  expect(actionOf(key("+", { shiftKey: true }), still)).toEqual({ do: "zoom", how: "in" });
});

test("a swipe must be horizontal and long enough", () => {
  expect(swiped(-80, 10)).toBe("next");
  expect(swiped(80, -10)).toBe("previous");
  expect(swiped(-20, 0)).toBeNull();
  expect(swiped(-80, 60)).toBeNull();
});
