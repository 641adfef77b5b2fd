// Every call that the reporter makes to a forge: node every_call.mjs KIND API REPOSITORY TOKEN PR SHA STATUSES
import { detectJob } from "../../../clients/node/dist/ci/detection.js";
import { forgeOf } from "../../../clients/node/dist/forges/index.js";
import { Sender } from "../../../clients/node/dist/sender.js";

const [forge, forgeApi, repository, forgeToken, number, sha, statuses] = process.argv.slice(2);
const prNumber = Number(number);
const job = { ...detectJob({}), forge, forgeApi, repository, forgeToken };
const place = forgeOf(job, new Sender(new AbortController().signal, 1));

await place.me();
const { id } = await place.create(prNumber, "one");
await place.comments(prNumber);
await place.update(prNumber, id, "two");
await place.delete(prNumber, id);
for (const status of JSON.parse(statuses)) await place.setStatus(sha, status);
await place.setStatus("4".repeat(40), { context: "prshots", state: "pending", description: "", url: "" });
await place.setDescription(prNumber, `${await place.description(prNumber)} of Node`);
if ("pullRequestsWithHead" in place) {
  const { headSha } = await place.pullRequest(prNumber);
  const found = (await place.pullRequestsWithHead(headSha)).map(({ number: each }) => each);
  if (!found.includes(prNumber)) throw new Error(`${found} does not include ${prNumber}`);
}
