import { describe, expect, it } from "vitest";
import type { Image, Staged } from "../lib/types";
import { groupByBranch } from "./staged-branches";

const staged = (id: string, branch: string, repository = ""): Staged => ({
  image: { id } as Image,
  before: null,
  branch,
  repository,
  expires_at: 0,
});

describe("groupByBranch", () => {
  it("keeps the order of branches and of screenshots", () => {
    const groups = groupByBranch([staged("3", "b"), staged("2", "a"), staged("1", "b")]);
    expect(groups.map(({ branch, staged }) => [branch, staged.map(({ image }) => image.id)])).toEqual([
      ["b", ["3", "1"]],
      ["a", ["2"]],
    ]);
  });

  it("never mixes branches of the same name in two repositories", () => {
    const groups = groupByBranch([staged("2", "fix", "eve/shop"), staged("1", "fix")]);
    expect(groups.map(({ repository }) => repository)).toEqual(["eve/shop", ""]);
  });
});
