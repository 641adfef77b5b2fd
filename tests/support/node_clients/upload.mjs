// Upload a list of screenshots with a FormData, and print the replies as JSON.
// node upload.mjs fetch|undici < {"url", "token", "image", "shots": [{"filename", "fields"}]}
import { readFileSync } from "node:fs";
import * as undici from "undici";

const clients = { fetch: { fetch, FormData, File }, undici: { fetch: undici.fetch, FormData: undici.FormData, File } };
const client = clients[process.argv[2]];
const { url, token, image, shots } = JSON.parse(readFileSync(0, "utf-8"));

const replies = [];
for (const { filename, fields } of shots) {
  const body = new client.FormData();
  body.append("image", new client.File([readFileSync(image)], filename, { type: "image/png" }));
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const reply = await client.fetch(url, { method: "POST", headers: { Authorization: `Bearer ${token}` }, body });
  replies.push({ status: reply.status, text: await reply.text() });
}
console.log(JSON.stringify(replies));
