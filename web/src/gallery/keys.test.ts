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

test("arrows go through the gallery and its commits", () => {
  expect(actionOf(key("ArrowRight"), false)).toEqual({ do: "go", step: "next" });
  expect(actionOf(key("ArrowDown"), false)).toEqual({ do: "go", step: "older" });
});

test("zoomed in, arrows move over the picture, and with Shift on to another", () => {
  expect(actionOf(key("ArrowRight"), true)).toEqual({ do: "pan", x: 1, y: 0 });
  expect(actionOf(key("ArrowRight", { shiftKey: true }), true)).toEqual({ do: "go", step: "next" });
});

test("the browser's own shortcuts are left alone", () => {
  expect(actionOf(key("ArrowLeft", { altKey: true }), false)).toBeNull();
  expect(actionOf(key("-", { ctrlKey: true }), false)).toBeNull();
  expect(actionOf(key("Tab"), false)).toBeNull();
});

test("zoom keys work in either case and on either plus", () => {
  expect(actionOf(key("Z", { shiftKey: true }), false)).toEqual({ do: "zoom", how: "toggle" });
  expect(actionOf(key("="), false)).toEqual({ do: "zoom", how: "in" });
  expect(actionOf(key("+", { shiftKey: true }), false)).toEqual({ do: "zoom", how: "in" });
});

test("a swipe is sideways and far enough", () => {
  expect(swiped(-80, 10)).toBe("next");
  expect(swiped(80, -10)).toBe("previous");
  expect(swiped(-20, 0)).toBeNull();
  expect(swiped(-80, 60)).toBeNull();
});
