import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenSource } from "../dist/keyless.js";
import { Sender } from "../dist/sender.js";
import { served } from "./support/servers.js";

const sender = new Sender(new AbortController().signal);

test("an ID token is exchanged once for all uploads, and again if the upload token is refused", async () => {
  let exchanges = 0;
  let here = "";
  const token = (number) => `msr_${String(number).padStart(64, "0")}`;
  const answer = (request, body) => {
    const asked = new URL(request.url, "http://here");
    if (asked.pathname === "/id-token") {
      assert.equal(request.headers.authorization, "bearer of-the-job");
      return { json: { value: `for ${asked.searchParams.get("audience")}` } };
    }
    assert.deepEqual(JSON.parse(body), { id_token: `for ${here}`, project: "shop" });
    return { json: { token: token(++exchanges), project: "shop", project_id: "1", organization: "local" } };
  };
  await served(answer, async (url) => {
    here = url;
    const environ = {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/id-token?v=1`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job",
    };
    const tokens = tokenSource(url, "", "shop", environ, sender);
    assert.deepEqual(await Promise.all([tokens.token(), tokens.token()]), [token(1), token(1)]);
    assert.equal(await tokens.renew(token(1)), token(2));
    assert.equal(await tokens.renew(token(1)), token(2));
  });
});

test("a token of another project is not used", async () => {
  const token = `msr_${"0".repeat(64)}`;
  const granted = { token, project: "shop", project_id: "0123456789abcdef", organization: "octo" };
  await served(
    () => ({ json: granted }),
    async (url) => {
      const asking = (project) => tokenSource(url, "", project, { PRSHOTS_ID_TOKEN: "ey.x" }, sender).token();
      for (const project of ["", "octo/shop", "0123456789abcdef"]) assert.equal(await asking(project), token);
      for (const project of ["shop", "evil/shop", "0123456789abcde0"])
        await assert.rejects(asking(project), /answered for the project octo\/shop, not for/);
    },
  );
});

test("a refused ID token is reported without showing it", async () => {
  await served(
    () => ({ status: 401, json: { error: "unauthorized" } }),
    (url) => {
      const tokens = tokenSource(url, "", "", { PRSHOTS_ID_TOKEN: "ey.secret" }, sender);
      const isExpected = ({ message }) => /did not accept/.test(message) && !message.includes("ey.secret");
      return assert.rejects(tokens.token(), isExpected);
    },
  );
});

test("after a failed exchange, the next upload tries again", async () => {
  const good = { token: `msr_${"0".repeat(64)}` };
  const answers = [{ status: 409, json: { error: "later" } }, { json: good }];
  await served(
    () => answers.shift(),
    async (url) => {
      const tokens = tokenSource(url, "", "", { PRSHOTS_ID_TOKEN: "ey.secret" }, sender);
      await assert.rejects(tokens.token(), /answered 409 to this job's ID token: later/);
      assert.equal(await tokens.token(), good.token);
    },
  );
});

test("a missing or invalid token is named, not shown", () => {
  assert.throws(() => tokenSource("", "", "", {}, sender), /set PRSHOTS_TOKEN/);
  for (const given of ["ghp_x", `msr_${"A".repeat(64)}`])
    assert.throws(
      () => tokenSource("", given, "", {}, sender),
      ({ message }) => /PRSHOTS_TOKEN/.test(message) && !message.includes(given),
    );
});
