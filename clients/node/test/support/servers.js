// Real servers in this process.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

const UPLOADED = { id: "0".repeat(32), view_url: "https://img.example/i/0.png", markdown: "![a](b)" };
/** What the service replies if a test does not say. */
const USUAL = { "/v1/upload": UPLOADED, "/v1/baseline": UPLOADED };

/** Start a server that answers each request with what `answer` returns. Close it after use. */
export async function started(answer, certificate) {
  const listener = async (request, response) => {
    const content = (await request.toArray()).join("");
    const isQuestion = request.url.endsWith("/known");
    const usual = isQuestion ? { missing: JSON.parse(content).shots } : (USUAL[request.url] ?? {});
    const { status = 200, headers = {}, json = usual, body, cut = false } = answer(request, content);
    if (cut) return request.socket.destroy();
    response
      .writeHead(status, { "Content-Type": "application/json", ...headers })
      .end(body ?? JSON.stringify(json));
  };
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `${certificate ? "https" : "http"}://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Run a server while `use` runs. */
export async function served(answer, use) {
  const server = await started(answer);
  try {
    return await use(server.url);
  } finally {
    server.close();
  }
}

/** Make a certificate that no authority has signed. */
export function selfSigned() {
  const folder = mkdtempSync(join(tmpdir(), "prshots-"));
  const [keyFile, certFile] = [join(folder, "key"), join(folder, "cert")];
  try {
    const command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x";
    const files = ["-keyout", keyFile, "-out", certFile];
    execFileSync("openssl", [...command.split(" "), ...files], { stdio: "ignore" });
    return { key: readFileSync(keyFile), cert: readFileSync(certFile) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
