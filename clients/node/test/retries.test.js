// When the reporter retries, how long it waits, and when it gives up. The servers are real, the clock is fake.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as errors from "../dist/errors.js";
import { limitOf, retryAfter, Sender } from "../dist/sending.js";
import { Uploads } from "../dist/uploading.js";
import { selfSigned, served, started } from "./support/servers.js";
import { testCases, vectors } from "./support/vectors.js";

const { now } = vectors("retries");
const ERRORS = {
  failed: errors.CallError,
  invalid: errors.InvalidInputError,
  "rate limited": errors.RateLimitedError,
  unauthorized: errors.UnauthorizedError,
  unreachable: errors.UnreachableError,
};

/** A clock that moves only when a request pauses. */
class Clock {
  #now = now;
  waits = [];
  now = () => this.#now;
  pause = async (seconds) => {
    this.#now += seconds;
    this.waits.push(seconds);
  };
}

const going = new AbortController().signal;
let plain;
let secure;
let answer;
before(async () => {
  plain = await started(() => answer());
  secure = await started(() => ({}), selfSigned());
});
after(() => {
  plain.close();
  secure.close();
});

testCases("retries", "retry_after", ({ header, seconds }) => {
  const headers = new Headers({ "Retry-After": header });
  assert.equal(retryAfter({ headers }, now), seconds ?? undefined);
});

testCases("retries", "limits", ({ status, headers = {}, body = "", seconds }) => {
  assert.equal(limitOf({ status, headers: new Headers(headers), text: body }, now), seconds ?? undefined);
});

testCases("retries", "sent", async ({ replies, requests, waits, ends }) => {
  const clock = new Clock();
  let sent = 0;
  let next;
  answer = () => (next.fault === "lost" ? { cut: true } : { ...next, body: next.body ?? "" });
  const makeRequest = () => {
    next = replies[Math.min(sent++, replies.length - 1)];
    return next.fault === "invalid header" ? { headers: { Authorization: "secret\nsecret" } } : {};
  };
  const [{ fault }] = replies;
  const addresses = { certificate: secure.url, "plain http": plain.url.replace("http:", "https:") };
  const sending = new Sender(going, undefined, clock).send(addresses[fault] ?? plain.url, makeRequest);
  if (ERRORS[ends]) {
    const isExpected = (error) => error instanceof ERRORS[ends] && !error.message.includes("secret");
    await assert.rejects(sending, isExpected);
  } else assert.equal((await sending).status, ends);
  assert.equal(sent, requests);
  const ranges = waits.flatMap(([least, most, times = 1]) => Array(times).fill([least, most]));
  assert.equal(clock.waits.length, ranges.length);
  for (const [index, [least, most]] of ranges.entries())
    assert.ok(clock.waits[index] > least - 0.001 && clock.waits[index] < most + 0.001);
});

testCases("retries", "uploads", async ({ results, tried }) => {
  const left = [...results];
  const service = {
    maxImageBytes: async () => Number.POSITIVE_INFINITY,
    upload: async () => {
      const result = left.shift();
      if (result !== "ok") throw new ERRORS[result](result);
    },
  };
  const uploads = new Uploads(service, { prNumber: 7, commitSha: "0".repeat(40) }, 1);
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
  for (const name of results.keys()) uploads.add({ body: Buffer.from(png, "base64") }, String(name), "");
  await uploads.finished();
  assert.equal(results.length - left.length, tried);
  assert.equal(uploads.uploaded, results.slice(0, tried).filter((result) => result === "ok").length);
});

test("all requests of a sender wait for its rate limit", async () => {
  const clock = new Clock();
  const replies = [{ status: 429, headers: { "Retry-After": "7" } }];
  await served(
    () => replies.shift() ?? {},
    async (url) => {
      const sender = new Sender(going, undefined, clock);
      await Promise.all([1, 2, 3].map(() => sender.send(url, () => ({}))));
    },
  );
  assert.deepEqual(new Set(clock.waits), new Set([7]));
});

test("stopping ends a wait immediately", async () => {
  const stop = new AbortController();
  const limited = { status: 429, headers: { "Retry-After": "600" } };
  await served(
    () => {
      setImmediate(() => stop.abort());
      return limited;
    },
    (url) =>
      assert.rejects(
        new Sender(stop.signal).send(url, () => ({})),
        /stopped/,
      ),
  );
});
