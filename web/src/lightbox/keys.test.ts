import { expect, test } from "vitest";
import { keyAction, pageKeyAction, swipeStep } from "./keys";
import { key } from "./sample-keys";

const still = { x: false, y: false };
const large = { x: true, y: true };

test("arrow keys move through the gallery and its commits", () => {
  expect(keyAction(key("ArrowRight"), still)).toEqual({ do: "go", step: "next" });
  expect(keyAction(key("ArrowDown"), still)).toEqual({ do: "go", step: "older" });
});

test("when zoomed in, arrow keys pan, and with Shift they open another image", () => {
  expect(keyAction(key("ArrowRight"), large)).toEqual({ do: "pan", x: 1, y: 0 });
  expect(keyAction(key("ArrowRight", { shiftKey: true }), large)).toEqual({ do: "go", step: "next" });
});

test("on a long page, up and down move over it, and left and right go to another image", () => {
  const long = { x: false, y: true };
  expect(keyAction(key("ArrowDown"), long)).toEqual({ do: "pan", x: 0, y: 1 });
  expect(keyAction(key("ArrowRight"), long)).toEqual({ do: "go", step: "next" });
});

test("j and k go to the next and previous shot, / to the filter and ? to the help", () => {
  expect(keyAction(key("j"), large)).toEqual({ do: "go", step: "next" });
  expect(keyAction(key("K"), still)).toEqual({ do: "go", step: "previous" });
  expect(keyAction(key("?", { shiftKey: true }), still)).toEqual({ do: "help" });
  expect(["/", "j", "k", "?", "x"].map((name) => pageKeyAction(key(name)))).toEqual([
    "filter",
    "next",
    "previous",
    "help",
    null,
  ]);
  expect(pageKeyAction(key("k", { metaKey: true }))).toBeNull();
});

test("browser shortcuts still work", () => {
  expect(keyAction(key("ArrowLeft", { altKey: true }), still)).toBeNull();
  expect(keyAction(key("-", { ctrlKey: true }), still)).toBeNull();
  expect(keyAction(key("Tab"), still)).toBeNull();
});

test("zoom keys work in upper and lower case, and with = or +", () => {
  expect(keyAction(key("Z", { shiftKey: true }), still)).toEqual({ do: "zoom", how: "toggle" });
  expect(keyAction(key("="), still)).toEqual({ do: "zoom", how: "in" });
  expect(keyAction(key("+", { shiftKey: true }), still)).toEqual({ do: "zoom", how: "in" });
});

test("a swipe must be horizontal and long enough", () => {
  expect(swipeStep(-80, 10)).toBe("next");
  expect(swipeStep(80, -10)).toBe("previous");
  expect(swipeStep(-20, 0)).toBeNull();
  expect(swipeStep(-80, 60)).toBeNull();
});
