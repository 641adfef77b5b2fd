// When the reporter retries, how long it waits, and when it gives up. The servers are real, the clock is fake.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BackgroundUploads } from "../dist/background_uploads.js";
import * as errors from "../dist/errors.js";
import { rateLimitOf } from "../dist/pace.js";
import { limitOf, noReplyMessage, retryAfter, Sender } from "../dist/sender.js";
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

testCases("retries", "rate_limit", ({ field, policy, is }) => {
  const found = rateLimitOf(new Headers({ RateLimit: field, "RateLimit-Policy": policy }));
  assert.deepEqual(found ? [found.policy, found.quota, found.remaining, found.seconds] : null, is);
});

/** Return the error that fetch throws: a TypeError whose cause has a code. */
function failure(code) {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}

const FAULTS = {
  refused: [failure("ECONNREFUSED")],
  "unknown name": [failure("ENOTFOUND"), failure("EAI_AGAIN")],
  "connect timeout": [failure("ETIMEDOUT"), failure("UND_ERR_CONNECT_TIMEOUT")],
  "no network": [failure("ENETUNREACH")],
  "no route": [failure("EHOSTUNREACH")],
  "reply timeout": [new DOMException("", "TimeoutError"), failure("UND_ERR_HEADERS_TIMEOUT")],
  reset: [failure("ECONNRESET"), failure("EPIPE")],
  closed: [failure("UND_ERR_SOCKET")],
};

testCases("retries", "unanswered", ({ fault, words }) => {
  for (const error of FAULTS[fault])
    assert.equal(noReplyMessage("http://localhost:8081/v1/upload", error), words);
});

test("a refused connection is named as such", async () => {
  const server = await started(() => ({}));
  server.close();
  const said = [];
  const sender = new Sender(going, 2, (words) => said.push(words), new Clock());
  const reason = `cannot connect to ${new URL(server.url).host} (connection refused)`;
  await assert.rejects(
    sender.send(server.url, () => ({})),
    { message: `${reason} after 2 tries` },
  );
  assert.deepEqual(said, [`${reason}; retrying in 1 s, 1 of 2`]);
});

/** Return the headers in which a service says what is left of a limit. */
function limitHeaders([policy, quota, remaining, seconds]) {
  return {
    "RateLimit-Policy": `"${policy}";q=${quota};w=60`,
    RateLimit: `"${policy}";r=${remaining};t=${seconds}`,
  };
}

testCases("retries", "paced", async ({ replies, uploads, waits, says }) => {
  const clock = new Clock();
  const said = [];
  const sender = new Sender(going, undefined, (words) => said.push(words), clock);
  let sent = 0;
  const next = () => {
    const { status, limit } = replies[sent++];
    return { status, headers: limit && limitHeaders(limit) };
  };
  await served(next, async (url) => {
    for (const { is_upload: isUpload = true } of replies.slice(0, uploads))
      await sender.send(url, () => ({}), { isUpload });
  });
  assert.deepEqual(clock.waits, waits);
  assert.deepEqual(said, says);
  assert.equal(sent, replies.length);
});

test("concurrent uploads never run into the limit", async () => {
  const clock = new Clock();
  const quota = 10;
  let counted = [];
  const statuses = [];
  const service = () => {
    counted = counted.filter((time) => time > clock.now() - 60);
    const status = counted.length < quota ? 200 : 429;
    if (status === 200) counted.push(clock.now());
    statuses.push(status);
    const limit = ["uploads", quota, quota - counted.length, Math.ceil(counted[0] + 60 - clock.now())];
    return { status, headers: { "Retry-After": "60", ...limitHeaders(limit) } };
  };
  await served(service, async (url) => {
    const sender = new Sender(going, undefined, undefined, clock);
    const left = Array(95).fill(url);
    const work = async () => {
      while (left.length) await sender.send(left.pop(), () => ({}), { isUpload: true });
    };
    await Promise.all(Array.from({ length: 8 }, work));
  });
  assert.deepEqual(statuses, Array(95).fill(200));
});

testCases("retries", "sent", async ({ replies, requests, waits, ends, says, error, timeout }) => {
  const clock = new Clock();
  const said = [];
  let sent = 0;
  let next;
  answer = () => (next.fault === "lost" ? { cut: true } : { ...next, body: next.body ?? "" });
  const makeRequest = () => {
    next = replies[Math.min(sent++, replies.length - 1)];
    return next.fault === "invalid header" ? { headers: { Authorization: "secret\nsecret" } } : {};
  };
  const [{ fault }] = replies;
  const addresses = { certificate: secure.url, "plain http": plain.url.replace("http:", "https:") };
  const url = addresses[fault] ?? plain.url;
  const { host } = new URL(url);
  const deadline = timeout === undefined ? undefined : now + timeout;
  const sender = new Sender(going, undefined, (words) => said.push(words), clock, deadline);
  const inWordsOfReporter = error
    ?.replace("{host}", host)
    .replace("{--timeout}", "timeout (PRSHOTS_TIMEOUT)");
  const sending = sender.send(url, makeRequest);
  if (ERRORS[ends]) {
    const isExpected = (thrown) =>
      thrown instanceof ERRORS[ends] &&
      !thrown.message.includes("secret") &&
      (!error || thrown.message === inWordsOfReporter);
    await assert.rejects(sending, isExpected);
  } else assert.equal((await sending).status, ends);
  assert.equal(sent, requests);
  const ranges = waits.flatMap(([least, most, times = 1]) => Array(times).fill([least, most]));
  assert.equal(clock.waits.length, ranges.length);
  for (const [index, [least, most]] of ranges.entries())
    assert.ok(clock.waits[index] > least - 0.001 && clock.waits[index] < most + 0.001);
  if (!says) return;
  const inWords = said.map((words, index) =>
    says[index]?.includes("* s") ? words.replace(/in \d+ s/, "in * s") : words,
  );
  assert.deepEqual(
    inWords,
    says.map((words) => words.replace("{host}", host)),
  );
});

test("no request waits for a limit that outlasts the timeout", async () => {
  const clock = new Clock();
  answer = () => ({ status: 429, headers: { "Retry-After": "60" }, body: "" });
  const sender = new Sender(going, undefined, undefined, clock, now + 30);
  for (const _ of [1, 2])
    await assert.rejects(
      sender.send(plain.url, () => ({})),
      /gave up/,
    );
  assert.deepEqual(clock.waits, []);
});

testCases("retries", "uploads", async ({ results, tried }) => {
  const left = [...results];
  const service = {
    maxImageBytes: async () => Number.POSITIVE_INFINITY,
    isKnown: async () => false,
    send: async () => {
      const result = left.shift();
      if (result !== "ok") throw new ERRORS[result](result);
    },
  };
  const uploads = new BackgroundUploads(service, { prNumber: 7, commitSha: "0".repeat(40) }, 1);
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
  for (const name of results.keys()) uploads.add({ body: Buffer.from(png, "base64") }, String(name), "");
  await uploads.finish();
  assert.equal(results.length - left.length, tried);
  assert.equal(uploads.uploaded, results.slice(0, tried).filter((result) => result === "ok").length);
});

test("all requests of a sender wait for its rate limit", async () => {
  const clock = new Clock();
  const replies = [{ status: 429, headers: { "Retry-After": "7" } }];
  await served(
    () => replies.shift() ?? {},
    async (url) => {
      const sender = new Sender(going, undefined, undefined, clock);
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
