/**
 * The worker that is measured: a small server of Node alone. Prints the port that it listens on.
 *
 *   GET /ping                     200, for health checks
 *   GET, POST /small              100 bytes
 *   GET /wait?ms=100              the same, later
 *   GET /download?bytes=30000000  so many bytes
 *   POST /upload                  how many bytes came
 *   GET /events?count=50&gap=20   server-sent events; the data of each is the moment it was sent, in ns
 *   upgrade of any path           a WebSocket that says nothing
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";

const SMALL = "x".repeat(100);
const PIECE = Buffer.alloc(64 * 1024, "x");
const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

function* pieces(bytes) {
  for (let left = bytes; left > 0; left -= PIECE.byteLength) yield PIECE.subarray(0, left);
}

function sendEvents(response, count, gapMs) {
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    response.write(`data: ${process.hrtime.bigint()}\n\n`);
    if (sent < count) return;
    clearInterval(timer);
    response.end();
  }, gapMs);
  response.on("close", () => clearInterval(timer));
}

const routes = {
  "/ping": (_request, response) => response.end(),
  "/small": (request, response) => {
    request.resume();
    request.on("end", () => response.end(SMALL));
  },
  "/wait": (_request, response, query) => setTimeout(() => response.end(SMALL), Number(query.get("ms"))),
  "/download": (_request, response, query) => {
    const bytes = Number(query.get("bytes"));
    response.writeHead(200, { "content-length": bytes });
    Readable.from(pieces(bytes))
      .on("error", () => {})
      .pipe(response);
  },
  "/upload": async (request, response) => {
    let bytes = 0;
    for await (const piece of request) bytes += piece.byteLength;
    response.end(String(bytes));
  },
  "/events": (_request, response, query) =>
    sendEvents(response, Number(query.get("count")), Number(query.get("gap"))),
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://server");
  const route = routes[pathname];
  if (route) route(request, response, searchParams);
  else response.writeHead(404).end();
});
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"];
  const accept = createHash("sha1")
    .update(key + WEBSOCKET_GUID)
    .digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  socket.write([...head, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n"));
  socket.on("data", () => {}).on("error", () => {});
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT ?? 0), process.env.HOST ?? "0.0.0.0", () => {
  console.log(server.address().port);
});
