import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ThumbnailUrls } from "../lib/types";
import { ThumbnailQueue } from "./thumbnail-queue";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const made = (ids: string[]): ThumbnailUrls => ({
  thumbnails: Object.fromEntries(ids.map((id) => [id, `/t/${id}`])),
  missing: {},
});

/** Reply to each request with a URL per id, and record the requests. */
function service() {
  const requests: string[][] = [];
  const queue = new ThumbnailQueue(async (ids) => {
    requests.push(ids);
    return made(ids);
  });
  return { requests, queue };
}

const makeIds = (count: number) => Array.from({ length: count }, (_, at) => `id${at}`);

test("ids requested at about the same time share a request", async () => {
  const { requests, queue } = service();
  const answers = Promise.all([queue.request("a"), queue.request("b")]);
  expect(requests).toEqual([]);
  await vi.runAllTimersAsync();
  expect(requests).toEqual([["a", "b"]]);
  expect(await answers).toEqual([{ url: "/t/a" }, { url: "/t/b" }]);
});

test("a request has at most 12 ids", async () => {
  const { requests, queue } = service();
  const ids = makeIds(60);
  const answers = Promise.all(ids.map((id) => queue.request(id)));
  await vi.runAllTimersAsync();
  expect(requests.map((batch) => batch.length)).toEqual([12, 12, 12, 12, 12]);
  expect(await answers).toEqual(ids.map((id) => ({ url: `/t/${id}` })));
});

test("thumbnails on the screen come first, from the top, then the closest ones", async () => {
  vi.stubGlobal("window", { innerHeight: 1000 });
  const { requests, queue } = service();
  const at = (top: number) => ({ getBoundingClientRect: () => ({ top, bottom: top + 100 }) }) as Element;
  const tops = { far: 1500, above: -250, below: 1100, last: 950, second: 300, first: -50 };
  for (const [id, top] of Object.entries(tops)) void queue.request(id, at(top));
  void queue.request("enlarged");
  await vi.runAllTimersAsync();
  expect(requests).toEqual([["enlarged", "first", "second", "last", "below", "above", "far"]]);
  vi.unstubAllGlobals();
});

test("two requests are sent at a time, and the next one as soon as one is answered", async () => {
  let underWay = 0;
  const most: number[] = [];
  const queue = new ThumbnailQueue(async (ids) => {
    most.push(++underWay);
    await new Promise((done) => setTimeout(done, 1000));
    underWay -= 1;
    return made(ids);
  });
  const ids = makeIds(40);
  const first = Promise.all(ids.map((id) => queue.request(id)));
  await vi.advanceTimersByTimeAsync(100);
  expect(most).toEqual([1, 2]);
  const last = queue.request("last");
  await vi.advanceTimersByTimeAsync(2000);
  expect(most).toEqual([1, 2, 2, 2]);
  await vi.runAllTimersAsync();
  expect(await first).toEqual(ids.map((id) => ({ url: `/t/${id}` })));
  expect(await last).toEqual({ url: "/t/last" });
});

test("an id is sent once, even if requested many times", async () => {
  const { requests, queue } = service();
  const first = queue.request("a");
  expect(queue.request("a")).toBe(first);
  await vi.runAllTimersAsync();
  expect(await queue.request("a")).toEqual({ url: "/t/a" });
  expect(requests).toEqual([["a"]]);
});

test("an id canceled before its batch is sent is not requested", async () => {
  const { requests, queue } = service();
  void queue.request("a");
  void queue.request("b");
  queue.cancel("a");
  await vi.runAllTimersAsync();
  expect(requests).toEqual([["b"]]);
});

test("a deleted image gets no URL", async () => {
  const queue = new ThumbnailQueue(async () => ({ thumbnails: {}, missing: {} }));
  const answer = queue.request("a");
  await vi.runAllTimersAsync();
  expect(await answer).toBeUndefined();
});

test("after a failure, the next request for the id is sent again", async () => {
  let fails = true;
  const queue = new ThumbnailQueue(async () => {
    if (fails) throw new Error("offline");
    return made(["a"]);
  });
  const first = expect(queue.request("a")).rejects.toThrow("offline");
  await vi.runAllTimersAsync();
  await first;
  fails = false;
  const second = queue.request("a");
  await vi.runAllTimersAsync();
  expect(await second).toEqual({ url: "/t/a" });
});

test("an image without a thumbnail says why, and is not requested again", async () => {
  let requests = 0;
  const queue = new ThumbnailQueue(async () => {
    requests += 1;
    return { thumbnails: { a: null }, missing: { a: "damaged" } };
  });
  const first = queue.request("a");
  await vi.runAllTimersAsync();
  expect(await first).toEqual({ error: "damaged" });
  expect(await queue.request("a")).toEqual({ error: "damaged" });
  expect(queue.resultOf("a")).toEqual({ error: "damaged" });
  expect(queue.resultOf("b")).toBeUndefined();
  expect(requests).toBe(1);
});

test("a thumbnail that is not rendered yet fails, and its next request is sent again", async () => {
  let later = true;
  const queue = new ThumbnailQueue(async () =>
    later ? { thumbnails: { a: null, b: "/t/b" }, missing: { a: "later" } } : made(["a"]),
  );
  const first = expect(queue.request("a")).rejects.toThrow("not rendered yet");
  const other = queue.request("b");
  await vi.runAllTimersAsync();
  await first;
  expect(await other).toEqual({ url: "/t/b" });
  later = false;
  const second = queue.request("a");
  await vi.runAllTimersAsync();
  expect(await second).toEqual({ url: "/t/a" });
});
