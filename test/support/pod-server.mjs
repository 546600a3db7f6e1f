// What runs in a pod: HTTP, server-sent events and WebSockets on the port that is its argument.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const server = createServer((request, response) => {
  if (request.url === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n");
    // The second follows when somebody has read the first, and asks for it.
    server.once("go", () => response.end("data: 2\n\n"));
    return;
  }
  if (request.url === "/go") {
    server.emit("go");
    response.end();
    return;
  }
  const hash = createHash("sha256");
  let bytes = 0;
  request.on("data", (piece) => {
    hash.update(piece);
    bytes += piece.length;
  });
  request.on("end", () => {
    const { method, url } = request;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method, url, bytes, sha256: hash.digest("hex"), pid: process.pid }));
  });
});
new WebSocketServer({ server }).on("connection", (socket) => {
  socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.listen(Number(process.argv[2]), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
