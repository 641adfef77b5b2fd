import { describe, expect, it } from "vitest";
import { type FetchPage, flatten, nextPageToCheck, type Page, renewPages } from "./page-chain";

const SIZE = 3;
const same = (item: string) => item;

/** A list on a server, paged by key like the API. It counts requests. */
class Served {
  asked: (string | null)[] = [];
  constructor(public items: string[]) {}

  readonly fetch: FetchPage<string> = async (after, etag) => {
    this.asked.push(after);
    const from = after === null ? 0 : this.items.findIndex((item) => item > after);
    const items = from === -1 ? [] : this.items.slice(from, from + SIZE);
    const goesOn = from !== -1 && from + SIZE < this.items.length;
    const next = goesOn ? (items.at(-1) ?? null) : null;
    const current = JSON.stringify([items, next]);
    return current === etag ? undefined : { after, items, next, etag: current };
  };

  async all(): Promise<Page<string>[]> {
    let pages = await renewPages<string>([], this.fetch);
    for (let next = pages.at(-1)?.next; next; next = pages.at(-1)?.next) {
      const page = await this.fetch(next, null);
      if (page) pages = [...pages, page];
    }
    this.asked = [];
    return pages;
  }
}

describe("renewPages", () => {
  it("requests only the first page while nothing changes, and keeps the same pages", async () => {
    const served = new Served([..."abcdefgh"]);
    const pages = await served.all();
    const again = await renewPages(pages, served.fetch);
    expect(served.asked).toEqual([null]);
    expect(again.every((page, index) => page === pages[index])).toBe(true);
  });

  it("shows a new first item, and loses none of the items after it", async () => {
    const served = new Served([..."bcdefgh"]);
    const pages = await served.all();
    served.items = [..."abcdefgh"];
    expect(flatten(await renewPages(pages, served.fetch), same)).toEqual([..."abcdefgh"]);
  });

  it("drops a deleted item, and reloads the pages that shifted", async () => {
    const served = new Served([..."abcdefgh"]);
    const pages = await served.all();
    served.items = [..."acdefgh"];
    expect(flatten(await renewPages(pages, served.fetch), same)).toEqual([..."acdefgh"]);
  });

  it("drops pages when the list gets shorter", async () => {
    const served = new Served([..."abcdefgh"]);
    const pages = await served.all();
    served.items = [..."ab"];
    const renewed = await renewPages(pages, served.fetch);
    expect(renewed).toHaveLength(1);
    expect(flatten(renewed, same)).toEqual(["a", "b"]);
  });

  it("becomes empty when the list does", async () => {
    const served = new Served([..."abcd"]);
    const pages = await served.all();
    served.items = [];
    expect(flatten(await renewPages(pages, served.fetch), same)).toEqual([]);
  });

  it("finds a change on a later page when that page is polled", async () => {
    const served = new Served([..."abcdefgh"]);
    const pages = await served.all();
    served.items = [..."abcdegh"];
    expect(flatten(await renewPages(pages, served.fetch), same)).toEqual([..."abcdefgh"]);
    expect(flatten(await renewPages(pages, served.fetch, { from: 1 }), same)).toEqual([..."abcdegh"]);
  });

  it("requests every page with `everything`", async () => {
    const served = new Served([..."abcdefgh"]);
    const pages = await served.all();
    await renewPages(pages, served.fetch, { everything: true });
    expect(served.asked).toEqual([null, "c", "f"]);
  });
});

it("shows a duplicate item once, at its first position", () => {
  const page = (items: string[]) => ({ after: null, items, next: null, etag: null });
  expect(flatten([page(["a", "b"]), page(["b", "c"])], same)).toEqual(["a", "b", "c"]);
});

it("polls the later pages in turn", () => {
  expect([0, 1, 2, 3].map((poll) => nextPageToCheck(3, poll))).toEqual([1, 2, 1, 2]);
  expect(nextPageToCheck(1, 5)).toBeNull();
});
