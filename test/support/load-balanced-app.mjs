/**
 * The app of a load-balanced worker that does as it is told, and tells what it saw. Listens on $PORT.
 *
 *   ANY  /echo…                 method, target, headers as they came, and length and SHA-256 of the body
 *   GET  /answer?with=JSON      {status, headers: [[name, value]], body: base64} is the answer
 *   GET  /bytes/N               N bytes, without a length
 *
 * A case is a name that related requests share; `told` waits until the given word was noted.
 *
 *   GET  /case/C/told/WORD      all that was noted of the case, once WORD was
 *   GET  /case/C/hold           notes `arrived`; is never answered                 `closed` once its client is gone
 *   GET  /case/C/chunks         sends `1`, and the next number whenever `next` is called             `closed` too
 *   POST /case/C/next
 *   POST /case/C/upload         notes `arrived` with the first byte                 `closed` when it was broken off
 *   GET  /case/C/meet/N         is answered when N such requests are there
 *   POST /case/C/exit           the process exits at once
 *   WebSocket /case/C/socket    echoes; `close CODE REASON` closes it               `closed CODE REASON`
 *
 * Environment: APP_PORT (listens there instead), APP_HEALTH (what /ping answers, 200 unless given), WORD (for /echo).
 */
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

const { PORT, APP_PORT = PORT, APP_HEALTH = "200", WORD = "" } = process.env;
const PIECE = Buffer.alloc(64 * 1024, "edgerun");

class Case {
  notes = [];
  waiting = [];
  streams = [];
  met = [];

  note(text) {
    this.notes.push(text);
    this.waiting = this.waiting.filter((look) => !look());
  }

  /** Calls back once the word was noted, alone or before others. */
  when(word, resolve) {
    const look = () => this.notes.some((note) => note.split(" ")[0] === word) && (resolve(this.notes), true);
    if (!look()) this.waiting.push(look);
  }
}

const cases = new Map();
const caseOf = (name) => cases.get(name) ?? cases.set(name, new Case()).get(name);

const onCase = {
  told: (one, _request, response, word) => one.when(word, (notes) => json(response, notes)),
  hold: (one, _request, response) => {
    response.on("close", () => one.note("closed"));
    one.note("arrived");
  },
  chunks: (one, _request, response) => {
    response.on("close", () => one.note("closed"));
    let sent = 0;
    const next = () => response.write(`${(sent += 1)}\n`);
    one.streams.push(next);
    response.writeHead(200, { "Content-Type": "text/plain" });
    next();
    one.note("arrived");
  },
  next: (one, _request, response) => {
    for (const next of one.streams) next();
    json(response, one.streams.length);
  },
  upload: (one, request, response) => {
    request.once("data", () => one.note("arrived"));
    request.on("close", () => request.complete || one.note("closed"));
    request.on("end", () => json(response, "whole"));
    request.resume();
  },
  meet: (one, _request, response, count) => {
    one.met.push(response);
    if (one.met.length >= Number(count)) for (const other of one.met) json(other, one.met.length);
  },
  exit: () => process.exit(3),
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://app");
  const [, first, name, what, word] = pathname.split("/");
  if (pathname === "/ping") return void response.writeHead(Number(APP_HEALTH)).end();
  if (first === "echo") return void echo(request, response).catch(() => response.destroy());
  if (first === "answer") return answer(response, JSON.parse(searchParams.get("with")));
  if (first === "bytes") return sendBytes(response, Number(name));
  const act = first === "case" && onCase[what];
  if (act) act(caseOf(name), request, response, word);
  else response.writeHead(404).end();
});

async function echo(request, response) {
  const digest = createHash("sha256");
  let bytes = 0;
  for await (const piece of request) {
    digest.update(piece);
    bytes += piece.length;
  }
  const { method, url: target, rawHeaders } = request;
  const headers = rawHeaders.flatMap((value, index) => (index % 2 ? [[rawHeaders[index - 1], value]] : []));
  json(response, { word: WORD, method, target, headers, bytes, sha256: digest.digest("hex") });
}

function answer(response, { status, headers = [], body = "" }) {
  response.sendDate = false;
  response.writeHead(status, headers.flat());
  response.end(Buffer.from(body, "base64"));
}

function sendBytes(response, bytes) {
  let left = bytes;
  const send = () => {
    while (left > 0) {
      const piece = PIECE.subarray(0, left);
      left -= piece.length;
      if (!response.write(piece)) return void response.once("drain", send);
    }
    response.end();
  };
  send();
}

function json(response, body) {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(body));
}

const sockets = new WebSocketServer({ server });
sockets.on("connection", (socket, request) => {
  const one = caseOf(request.url.split("/")[2]);
  one.note("arrived");
  socket.on("error", () => {}); // `close` tells of it
  socket.on("close", (code, reason) => one.note(`closed ${code} ${reason.toString()}`));
  socket.on("message", (/** @type {Buffer} */ message, isBinary) => {
    const [, code, reason] = (!isBinary && /^close (\d+) (.*)$/.exec(message.toString())) || [];
    if (code) socket.close(Number(code), reason);
    else socket.send(message, { binary: isBinary });
  });
});

process.on("SIGTERM", () => process.exit(0));
server.listen(Number(APP_PORT), "0.0.0.0");
