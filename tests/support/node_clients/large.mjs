// Upload far too much with Node's fetch, and print the reply's status and text.
// node large.mjs URL TOKEN BYTES: streamed, of unknown length
// node large.mjs URL TOKEN FILE:  a form with a file, whose length is known
import { openAsBlob } from "node:fs";

const [url, token, what] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };

async function* multipartOf(bytes) {
  yield Buffer.from('--b\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n');
  const chunk = Buffer.alloc(1024 * 1024);
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk;
  yield Buffer.from("\r\n--b--\r\n");
}

async function request() {
  if (/^\d+$/.test(what)) {
    headers["Content-Type"] = "multipart/form-data; boundary=b";
    return { method: "POST", headers, duplex: "half", body: ReadableStream.from(multipartOf(Number(what))) };
  }
  const body = new FormData();
  body.append("image", await openAsBlob(what, { type: "image/png" }), "a.png");
  return { method: "POST", headers, body };
}

const reply = await fetch(url, await request());
console.log(JSON.stringify({ status: reply.status, text: await reply.text() }));
