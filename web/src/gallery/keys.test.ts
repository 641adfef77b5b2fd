import { expect, test } from "vitest";
import { actionOf, swiped } from "./keys";

const key = (name: string, more = {}) => ({
  key: name,
  shiftKey: false,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...more,
});

test("arrow keys move through the gallery and its commits", () => {
  expect(actionOf(key("ArrowRight"), false)).toEqual({ do: "go", step: "next" });
  expect(actionOf(key("ArrowDown"), false)).toEqual({ do: "go", step: "older" });
});

test("when zoomed in, arrow keys pan, and with Shift they open another image", () => {
  expect(actionOf(key("ArrowRight"), true)).toEqual({ do: "pan", x: 1, y: 0 });
  expect(actionOf(key("ArrowRight", { shiftKey: true }), true)).toEqual({ do: "go", step: "next" });
});

test("browser shortcuts still work", () => {
  expect(actionOf(key("ArrowLeft", { altKey: true }), false)).toBeNull();
  expect(actionOf(key("-", { ctrlKey: true }), false)).toBeNull();
  expect(actionOf(key("Tab"), false)).toBeNull();
});

test("zoom keys work in upper and lower case, and with = or +", () => {
  expect(actionOf(key("Z", { shiftKey: true }), false)).toEqual({ do: "zoom", how: "toggle" });
  expect(actionOf(key("="), false)).toEqual({ do: "zoom", how: "in" });
  expect(actionOf(key("+", { shiftKey: true }), false)).toEqual({ do: "zoom", how: "in" });
});

test("a swipe must be horizontal and long enough", () => {
  expect(swiped(-80, 10)).toBe("next");
  expect(swiped(80, -10)).toBe("previous");
  expect(swiped(-20, 0)).toBeNull();
  expect(swiped(-80, 60)).toBeNull();
});
