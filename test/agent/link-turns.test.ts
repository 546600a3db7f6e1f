import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, test } from "vitest";
import { FLAG_END, FRAME, LINK_FRAME_MAX_BYTES } from "../../src/link/link-frame.ts";
import { LinkFixture } from "../support/link-fixture.ts";
import { LINK_WINDOWS_BUDGET_BYTES } from "../../src/link/link-window.ts";

const MEGABYTE = 1024 * 1024;
/** Streams that wait down, and as many up. */
const EACH_WAY = 40;

/** What this process holds in buffers, without what nobody refers to any more. */
function bufferedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect(); // buffers that the first one found are freed beside it, and are gone when the next one begins
  return process.memoryUsage().arrayBuffers;
}

/** A server in a process of its own, whose memory is not ours: it pours out 30 MB, and takes bodies without reading. */
const POURING = `
  const http = require("node:http");
  const server = http.createServer((request, response) => {
    if (request.method === "POST") return void request.pause();
    response.writeHead(200);
    const piece = Buffer.alloc(1024 * 1024, "x");
    let left = 30;
    const more = () => { while (left-- > 0 && response.write(piece)); if (left > 0) response.once("drain", more); else response.end(); };
    more();
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

async function pouringWorker(host: LinkFixture): Promise<ChildProcess & Disposable> {
  const child = spawn(process.execPath, ["-e", POURING], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  host.admission.ports.set("pouring", Number(line));
  host.links.admissionChanged("endpoint-1");
  return Object.assign(child, { [Symbol.dispose]: () => void child.kill("SIGKILL") });
}

/** What the frames of one stream and the others are, in their order. */
const order = (host: LinkFixture, from: number) =>
  host.link.messages.slice(from).flatMap((frames) => frames.filter(({ type }) => type === FRAME.DATA));

describe("streams of a link", () => {
  test("are served two hundred at once, each with its own answer", async ({ expect }) => {
    const waiting: (() => void)[] = [];
    await using host = await LinkFixture.start((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        waiting.push(() => response.end(`${request.url} ${Buffer.concat(chunks).toString()}`));
        if (waiting.length === 200) for (const answer of waiting) answer();
      });
    });
    const streams = Array.from({ length: 200 }, (_, at) =>
      host.link.request("w1", { method: "POST", target: `/${at}` }, Buffer.from(`body ${at}`)),
    );
    await Promise.all(streams.map((stream) => stream.over()));
    expect(streams.map(({ text }) => text)).toEqual(streams.map((_, at) => `/${at} body ${at}`));
    expect(host.link.violations).toEqual([]);
    await host.quiet();
  });

  test("take turns: of two that pour, neither is more than a few frames ahead", async ({ expect }) => {
    await using host = await LinkFixture.create();
    await host.open();
    using _ = await pouringWorker(host);
    const some = host.link.request("pouring");
    const others = host.link.request("pouring");
    some.keeps = others.keeps = false;
    await host.link.until(() => some.receivedBytes >= MEGABYTE && others.receivedBytes >= MEGABYTE);
    const from = host.link.messages.length;
    await host.link.until(() => some.receivedBytes >= 10 * MEGABYTE && others.receivedBytes >= 10 * MEGABYTE);
    let ahead = 0;
    let most = 0;
    for (const { stream, bytes } of order(host, from)) {
      ahead += stream === some.number ? bytes : -bytes;
      most = Math.max(most, Math.abs(ahead));
    }
    // Neither may be ahead by more than its window and what the worker is slower with.
    expect(most).toBeLessThan(4 * MEGABYTE);
    expect(host.link.violations).toEqual([]);
  });

  test("with small answers overtake one that pours", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.end("small"));
    using _ = await pouringWorker(host);
    const pouring = host.link.request("pouring");
    pouring.keeps = false;
    await host.link.until(() => pouring.receivedBytes > 2 * MEGABYTE);
    const between: number[] = [];
    for (let count = 0; count < 20 && !pouring.isEnded; count += 1) {
      const before = pouring.receivedBytes;
      const small = host.link.request("w1");
      await small.over();
      between.push(pouring.receivedBytes - before);
      expect(small.text).toBe("small");
    }
    between.sort((a, b) => a - b);
    // Hardly more of the stream that pours arrived meanwhile than is in buffers and on its way.
    expect(between[between.length >> 1]).toBeLessThan(2 * MEGABYTE);
  });

  test("that no client reads delay no other", async ({ expect }) => {
    await using host = await LinkFixture.start((_, response) => response.end("small"));
    using _ = await pouringWorker(host);
    const unread = Array.from({ length: 20 }, () => host.link.request("pouring"));
    for (const stream of unread) stream.isReading = false;
    await host.link.until(() => unread.every(({ credit }) => credit === 0));
    for (let count = 0; count < 50; count += 1) {
      expect((await host.link.request("w1").over()).text).toBe("small");
    }
    const read = host.link.request("pouring");
    read.keeps = false;
    await read.over();
    expect(read.receivedBytes).toBe(30 * MEGABYTE);
    expect(unread.map(({ receivedBytes }) => receivedBytes)).toEqual(unread.map(() => LINK_FRAME_MAX_BYTES));
  });

  test("hold little in memory, however much there is to send", async ({ expect }) => {
    await using host = await LinkFixture.create();
    await host.open();
    using _ = await pouringWorker(host);
    const body = new Uint8Array(30 * MEGABYTE);
    const before = bufferedBytes();
    const down = Array.from({ length: EACH_WAY }, () => host.link.request("pouring"));
    for (const stream of down) Object.assign(stream, { isReading: false, keeps: false });
    await host.link.until(() => down.every(({ credit }) => credit === 0));
    const up = Array.from({ length: EACH_WAY }, () =>
      host.link.request("pouring", { method: "POST" }, "follows"),
    );
    for (const stream of up) void stream.send(body);
    // All have used up their credit: their worker reads nothing, and its kernel's buffers are full.
    await host.link.until(() => up.every(({ open }) => open === 0));
    for (let count = 0; count < 50; count += 1) await host.link.request("none").over();
    const held = bufferedBytes() - before;
    // 1.2 GB each way are waiting. Each stream may hold a window and what Node reads ahead; some windows have grown.
    expect(held).toBeLessThan(2 * EACH_WAY * 8 * LINK_FRAME_MAX_BYTES + LINK_WINDOWS_BUDGET_BYTES);
    expect(host.link.frames.some(({ flags, type }) => type === FRAME.DATA && flags === FLAG_END)).toBe(false);
  });
});
