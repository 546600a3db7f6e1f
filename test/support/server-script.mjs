/**
 * The server of a worker that takes requests. It listens on $PORT, or where the environment says:
 *
 *   SERVER_PORT, SERVER_HOST  where it listens; SERVER_PORT=none: nowhere
 *   SERVER_HEALTH             status of the health check to begin with; 200 unless given
 *   SERVER_HEALTH_PORT        answers health checks there as well, and nothing else
 *
 *   POST /health/<status>     what the health check answers from here on
 *   GET  /hold                is answered once POST /release came
 *   POST /exit/<code>         the process exits
 *   POST /deaf                it listens no more, and answers what it has
 *   GET  /env/<name>          a variable of its environment
 */
import { createServer } from "node:http";

const { PORT, SERVER_PORT = PORT, SERVER_HOST = "0.0.0.0", SERVER_HEALTH_PORT } = process.env;
const healthPath = process.env.HEALTH_CHECK_PATH ?? "/ping";
let health = Number(process.env.SERVER_HEALTH ?? 200);
let held = [];

const server = createServer((request, response) => {
  const path = request.url ?? "/";
  if (path === healthPath) return void response.writeHead(health).end();
  if (path === "/hold") {
    response.writeHead(200);
    response.flushHeaders();
    return void held.push(response);
  }
  const [, what, word = ""] = path.split("/");
  if (what === "env") return void response.end(process.env[word] ?? "");
  if (what === "exit") process.exit(Number(word));
  if (what === "health") health = Number(word);
  if (what === "deaf") server.close();
  if (what === "release") {
    for (const one of held) one.end("whole");
    held = [];
  }
  response.writeHead(200, { connection: "close" }).end("done");
});

if (SERVER_PORT !== "none") server.listen(Number(SERVER_PORT), SERVER_HOST);
if (SERVER_HEALTH_PORT !== undefined) {
  createServer((_, response) => void response.writeHead(health).end()).listen(Number(SERVER_HEALTH_PORT));
}
setInterval(() => {}, 1_000_000);
process.on("SIGTERM", () => process.exit(0));
