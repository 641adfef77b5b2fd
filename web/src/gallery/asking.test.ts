import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ThumbnailQueue } from "./asking";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Reply to each request with a URL per id, and record the requests. */
function service() {
  const requests: string[][] = [];
  const queue = new ThumbnailQueue(async (ids) => {
    requests.push(ids);
    return Object.fromEntries(ids.map((id) => [id, `/t/${id}`]));
  });
  return { requests, queue };
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `id${at}`);

test("ids wanted at about the same time share a request", async () => {
  const { requests, queue } = service();
  const answers = Promise.all([queue.want("a"), queue.want("b")]);
  expect(requests).toEqual([]);
  await vi.runAllTimersAsync();
  expect(requests).toEqual([["a", "b"]]);
  expect(await answers).toEqual(["/t/a", "/t/b"]);
});

test("a request has at most 24 ids, and the latest come first", async () => {
  const { requests, queue } = service();
  const ids = numbered(60);
  const answers = Promise.all(ids.map((id) => queue.want(id)));
  await vi.runAllTimersAsync();
  expect(requests.map((batch) => batch.length)).toEqual([24, 24, 12]);
  expect(requests[0]).toEqual(ids.slice(-24));
  expect(await answers).toEqual(ids.map((id) => `/t/${id}`));
});

test("requests are sent one at a time", async () => {
  let underWay = 0;
  let most = 0;
  const queue = new ThumbnailQueue(async (ids) => {
    most = Math.max(most, ++underWay);
    await new Promise((done) => setTimeout(done, 1000));
    underWay -= 1;
    return Object.fromEntries(ids.map((id) => [id, null]));
  });
  const first = queue.want("a");
  await vi.advanceTimersByTimeAsync(100);
  const second = queue.want("b");
  await vi.runAllTimersAsync();
  expect(await Promise.all([first, second])).toEqual([null, null]);
  expect(most).toBe(1);
});

test("an id is requested once, even if wanted many times", async () => {
  const { requests, queue } = service();
  const first = queue.want("a");
  expect(queue.want("a")).toBe(first);
  await vi.runAllTimersAsync();
  expect(await queue.want("a")).toBe("/t/a");
  expect(requests).toEqual([["a"]]);
});

test("an id forgotten before its request is sent is not requested", async () => {
  const { requests, queue } = service();
  void queue.want("a");
  void queue.want("b");
  queue.forget("a");
  await vi.runAllTimersAsync();
  expect(requests).toEqual([["b"]]);
});

test("a deleted image gets no URL", async () => {
  const queue = new ThumbnailQueue(async () => ({}));
  const answer = queue.want("a");
  await vi.runAllTimersAsync();
  expect(await answer).toBeUndefined();
});

test("after a failure the id is requested again when next wanted", async () => {
  let fails = true;
  const queue = new ThumbnailQueue(async () => {
    if (fails) throw new Error("offline");
    return { a: "/t/a" };
  });
  const first = expect(queue.want("a")).rejects.toThrow("offline");
  await vi.runAllTimersAsync();
  await first;
  fails = false;
  const second = queue.want("a");
  await vi.runAllTimersAsync();
  expect(await second).toBe("/t/a");
});
