import { expect, test } from "vitest";
import { KEYS, keyAction, pageKeyAction, reviewKey } from "../lightbox/keys";
import { key } from "../lightbox/sample-keys";
import { pairKeyAction } from "./pair-keys";

const still = { x: false, y: false };
const action = (name: string, more = {}) => pairKeyAction(key(name, more), still);
const pressed = (name: string) => key(name.replace("Shift+", ""), { shiftKey: name.startsWith("Shift+") });

test("digits choose the mode, letters do the rest, n and p choose the change", () => {
  expect(["1", "2", "3", "4"].map((name) => action(name))).toEqual(
    ["side", "slider", "overlay", "diff"].map((mode) => ({ do: "mode", mode })),
  );
  expect(["B", "d", "l", "h", "o", "m", "a", "r", "g", "u"].map((name) => action(name))).toEqual(
    ["boxes", "region", "list", "history", "original", "notes", "approve", "reject", "group", "undo"].map(
      (name) => ({ do: name }),
    ),
  );
  expect(pairKeyAction(pressed("Shift+G"), still)).toEqual({ do: "rejectGroup" });
  for (const name of ["n", "j", "ArrowRight"]) expect(action(name)).toEqual({ do: "go", step: "next" });
  for (const name of ["p", "k", "ArrowLeft"]) expect(action(name)).toEqual({ do: "go", step: "previous" });
});

test("keys of the lightbox or the browser do nothing", () => {
  expect(["i", "ArrowUp", "5", "0", " "].map((name) => action(name))).toEqual(Array(5).fill(null));
  expect(action("1", { ctrlKey: true })).toBeNull();
  expect(action("b", { metaKey: true })).toBeNull();
  expect(pairKeyAction(key("ArrowDown"), { x: false, y: true })).toEqual({ do: "pan", x: 0, y: 1 });
});

test("every key in the help does something where the help says", () => {
  const names: Record<string, string> = {
    "←": "ArrowLeft",
    "→": "ArrowRight",
    "↑": "ArrowUp",
    "↓": "ArrowDown",
    "−": "-",
  };
  const idle = (where: RegExp, actionOf: (name: string) => unknown) =>
    KEYS.filter((section) => where.test(section.where))
      .flatMap(({ keys }) => keys.flatMap(([listed]) => listed.split(" ")))
      .filter((name) => name !== "Esc" && !actionOf(names[name] ?? name)); // the dialog handles Esc
  const ofPair = (name: string) => pairKeyAction(pressed(name), still);
  expect(idle(/^Everywhere|^Review|a viewer|a change$/, ofPair)).toEqual([]);
  expect(idle(/^Everywhere|a viewer|a screenshot$/, (name) => keyAction(key(name), still))).toEqual([]);
  const onPage = idle(/^Everywhere|gallery$/, (name) => pageKeyAction(key(name)));
  expect(idle(/^Review/, (name) => reviewKey(pressed(name)))).toEqual([]);
  expect(onPage).toEqual(["Enter"]); // a link handles Enter, or the filter
});
