/** A load-balanced worker on plain Node: JSON, files, server-sent events and a WebSocket. */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { WebSocketServer } from "ws";

const PIECE = Buffer.alloc(64 * 1024, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));

const routes = {
  "GET /ping": (_request, response) => response.end(),
  "POST /count": count,
  "POST /files": upload,
  "GET /files": download,
  "GET /notes": readNotes,
  "POST /notes": postNote,
};

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    // The client is gone, most likely; the answer is either not begun or broken off.
    console.log(`${request.method} ${request.url}: ${error.message}`);
    response.destroy();
  });
});

async function serve(request, response) {
  const [, name = ""] = request.url.split(/[/?]/);
  const route = routes[`${request.method} /${name}`];
  if (route) await route(request, response);
  else response.writeHead(404).end(`There is no ${request.method} /${name} here.\n`);
}

async function count(request, response) {
  const { text } = await json(request);
  answer(response, { wordCount: text.split(/\s+/).filter(Boolean).length, characterCount: [...text].length });
}

// Files

/** Takes a body of any length piece by piece. */
async function upload(request, response) {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const piece of request) {
    digest.update(piece);
    bytes += piece.length;
  }
  answer(response, { bytes, sha256: digest.digest("hex") });
}

/** Sends so many bytes as the path says, always the same ones, and no faster than they are read. */
async function download(request, response) {
  const bytes = Number(request.url.split("/")[2]);
  response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": bytes });
  await pipeline(Readable.from(pieces(bytes)), response);
}

function* pieces(bytes) {
  for (let left = bytes; left > 0; left -= PIECE.length) yield PIECE.subarray(0, left);
}

// Notes

const readers = new Set();

/** Streams the notes that are posted from now on to each reader. */
function readNotes(_request, response) {
  readers.add(response);
  response.on("close", () => readers.delete(response));
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  response.write("event: open\ndata: \n\n");
}

async function postNote(request, response) {
  const { note } = await json(request);
  for (const reader of readers) reader.write(`data: ${note}\n\n`);
  answer(response, { readers: readers.size });
}

function answer(response, body) {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
}

// Talking

/** Answers each message with itself. */
const sockets = new WebSocketServer({ server, path: "/talk" });
sockets.on("connection", (socket) => {
  socket.on("message", (message, isBinary) => socket.send(message, { binary: isBinary }));
});

process.on("SIGTERM", () => server.close(() => process.exit()));
server.listen(Number(process.env.PORT), () => console.log(`listening on ${process.env.PORT}`));
