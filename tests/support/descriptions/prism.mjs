// A proxy that refuses every request, and every reply, that the description does not allow:
//   node prism.mjs PORT DESCRIPTION UPSTREAM
// It exits when its standard input closes.
import core from "@stoplight/prism-core";
import http from "@stoplight/prism-http";
import server from "@stoplight/prism-http-server";

const [port, description, upstream] = process.argv.slice(2);
const operations = await http.getHttpOperationsFromSpec(description);
const config = {
  isProxy: true,
  upstream: new URL(upstream),
  upstreamProxy: undefined,
  validateRequest: true,
  validateResponse: true,
  checkSecurity: true,
  errors: true,
  mock: { dynamic: false },
};
const prism = server.createServer(operations, {
  cors: false,
  config,
  components: { logger: core.createLogger("prism", { level: "silent" }) },
});
await prism.listen(Number(port), "127.0.0.1");
console.log("ready");
process.stdin.resume().on("end", () => process.exit());
