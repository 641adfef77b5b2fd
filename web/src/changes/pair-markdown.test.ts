import { expect, test } from "vitest";
import { image } from "../gallery/sample-shots";
import { pairMarkdown } from "./pair-markdown";
import { comparedShot } from "./sample-comparisons";

const before = image({ url: "http://img/1.png", markdown: "![a](http://img/1.png)" });
const after = image({ url: "http://img/2.png", markdown: "![a](http://img/2.png)" });

test("a pair is pasted as its close-ups, as a table, or as its only image", () => {
  const closeups = [
    { url: "http://img/2.closeup1.png", region: [0, 0, 1, 1] as [number, number, number, number] },
  ];
  expect(pairMarkdown(comparedShot({ before, after, closeups }), "http://pair")).toBe(
    "[![a](http://img/2.closeup1.png)](http://pair)",
  );
  expect(pairMarkdown(comparedShot({ before, after }), "http://pair")).toBe(
    "| Before | After |\n|---|---|\n| [![a](http://img/1.png)](http://pair) | [![a](http://img/2.png)](http://pair) |",
  );
  expect(pairMarkdown(comparedShot({ before, after: null }), "http://pair")).toBe(
    "[![a](http://img/1.png)](http://pair)",
  );
});
