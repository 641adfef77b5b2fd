// Against real servers of this process: what is sent again, what is exchanged, and the one comment.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import Reporter from "../dist/index.js";
import { tokenSource } from "../dist/keyless.js";
import { Sender } from "../dist/sending.js";
import { posted } from "../dist/sticky.js";

/** Run a server that answers each request with what `answer` returns, while `use` runs. */
async function served(answer, use) {
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join("");
    const { status = 200, headers = {}, json, cut = false } = answer(request, body);
    if (cut) return request.socket.destroy();
    response
      .writeHead(status, { "Content-Type": "application/json", ...headers })
      .end(JSON.stringify(json ?? {}));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const going = new AbortController().signal;

test("what does not arrive is sent again, a limit is waited for, and stopping stops", async () => {
  const limited = { status: 429, headers: { "Retry-After": "0" } };
  const replies = [limited, limited, { cut: true }, { json: { ok: true } }];
  await served(
    () => replies.shift(),
    async (url) => {
      const reply = await new Sender(going, 2).send(url, () => ({})); // a limit is no try
      assert.equal(reply.text, '{"ok":true}');
    },
  );
  assert.equal(replies.length, 0);
  await served(
    () => ({ status: 503, json: { error: "busy" } }),
    async (url) => assert.equal((await new Sender(going, 1).send(url, () => ({}))).status, 503),
  );
  const stop = new AbortController();
  const waiting = served(
    () => ({ status: 429, headers: { "Retry-After": "600" } }),
    (url) =>
      assert.rejects(
        new Sender(stop.signal).send(url, () => ({})),
        /stopped/,
      ),
  );
  setTimeout(() => stop.abort(), 100);
  await waiting;
});

test("an ID token is exchanged once for all, and again when the token is refused", async () => {
  let exchanges = 0;
  const token = (number) => `msr_${String(number).padStart(64, "0")}`;
  const answer = (request, body) => {
    const asked = new URL(request.url, "http://here");
    if (asked.pathname === "/id-token") {
      assert.equal(request.headers.authorization, "bearer of-the-job");
      return { json: { value: `for ${asked.searchParams.get("audience")}` } };
    }
    assert.deepEqual(JSON.parse(body), { id_token: `for ${here}`, project: "shop" });
    return { json: { token: token(++exchanges), expires_at: 0, project: "shop" } };
  };
  let here = "";
  await served(answer, async (url) => {
    here = url;
    const environ = {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/id-token?v=1`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job",
    };
    const tokens = tokenSource(url, "", "shop", environ, new Sender(going));
    assert.deepEqual(await Promise.all([tokens.token(), tokens.token()]), [token(1), token(1)]);
    assert.equal(await tokens.renewed(token(1)), token(2));
    assert.equal(await tokens.renewed(token(1)), token(2));
  });
  await served(
    () => ({ status: 401, json: { error: "unauthorized" } }),
    (url) => {
      const tokens = tokenSource(url, "", "", { PRSHOTS_ID_TOKEN: "ey.secret" }, new Sender(going));
      return assert.rejects(
        tokens.token(),
        (error) => /does not take/.test(error.message) && !/ey/.test(error.message),
      );
    },
  );
  assert.throws(() => tokenSource("", "", "", {}, new Sender(going)), /set PRSHOTS_TOKEN/);
  assert.throws(
    () => tokenSource("", "ghp_x", "", {}, new Sender(going)),
    (error) => !/ghp_x/.test(error.message),
  );
});

/** A discussion in memory, with what others do to it meanwhile. */
function discussion(comments, { me = "bot", onlyAuthorsChange = false } = {}) {
  const writes = [];
  return {
    writes,
    comments: async () => comments.map((comment) => ({ url: `#${comment.id}`, ...comment })),
    label: "Forge",
    maxCharacters: 1000,
    onlyAuthorsChange,
    marker: () => "<!-- svc:pr-7 -->",
    written: (markdown) => markdown,
    me: async () => me,
    create: async (_pr, body) => {
      writes.push("create");
      const made = { id: String(100 + comments.length), body, author: "bot", url: "" };
      comments.push(made);
      return made;
    },
    update: async (_pr, id, body) => {
      writes.push(`update ${id}`);
      comments.find((comment) => comment.id === id).body = `${body}\r\n`;
    },
    remove: async (_pr, id) => {
      writes.push(`remove ${id}`);
      comments.splice(
        comments.findIndex((comment) => comment.id === id),
        1,
      );
    },
    addressOf: async (_pr, { url }) => url,
  };
}

test("there is one comment of ours, the oldest, and it says what is to be said", async () => {
  const text = "<!-- svc:pr-7 -->\n### 1 screenshot\n";
  const theirs = { id: "1", body: text, author: "mona" };
  const quiet = discussion([theirs, { id: "2", body: text, author: "bot" }]);
  assert.deepEqual(await posted(quiet, 7, async () => text), { done: "unchanged", url: "#2" });
  assert.deepEqual(quiet.writes, []);

  const twice = discussion([
    theirs,
    { id: "2", body: "<!-- svc:pr-7 -->\nold", author: "bot" },
    { id: "3", body: text, author: "bot" },
  ]);
  assert.equal((await posted(twice, 7, async () => text)).done, "updated");
  assert.deepEqual(twice.writes, ["remove 3", "update 2"]);

  const first = discussion([theirs, { id: "2", body: "<!-- svc:pr-70 -->", author: "bot" }], { me: "" });
  const news = [text, `${text}more`, `${text}more`];
  assert.equal((await posted(first, 7, async () => news.shift())).done, "created");
  assert.deepEqual(first.writes, ["create", "update 102"]);
});

test("without a service nothing is done or said, and a run is failed only where that is asked for", async () => {
  const said = [];
  const { write } = process.stderr;
  const environ = { ...process.env };
  for (const name of Object.keys(process.env))
    if (/^(PRSHOTS_|GITHUB_|GITLAB_|CI)/.test(name)) delete process.env[name];
  process.stderr.write = (text) => said.push(text);
  try {
    const idle = new Reporter();
    idle.onTestEnd({}, { attachments: [{}] });
    assert.equal(await idle.onEnd({ status: "passed" }), undefined);
    assert.deepEqual(said, []);
    for (const strict of [false, true]) {
      const wrong = new Reporter({
        url: "https://shots.test",
        prNumber: 7,
        commit: "0123456",
        token: "msr_secret",
        strict,
      });
      assert.deepEqual(await wrong.onEnd({ status: "passed" }), strict ? { status: "failed" } : undefined);
    }
    assert.match(said.join(""), /^(prshots: nothing is uploaded: the token is none of prshots[^\n]*\n){2}$/);
  } finally {
    process.stderr.write = write;
    Object.assign(process.env, environ);
  }
});
