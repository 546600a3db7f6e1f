/** Load-balanced endpoints on a whole Edgerun, with workers in containers: what passes, both ways. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";
import { ensureNodeServerImage } from "../../scripts/images/node-image.ts";
import { ensureStaticFilesImage } from "../../scripts/images/static-image.ts";
import { LOAD_BALANCED_BODY_MAX_BYTES } from "../../src/contract/limits.ts";
import { ensureLoadBalancedAppImage } from "../support/load-balanced-app.ts";
import { type LoadBalancedAnswer, LoadBalancedClient } from "../support/load-balanced-client.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { inTurn } from "../support/turn.ts";
import { until } from "../support/until.ts";
import { ensureWorkerImage } from "../support/worker-image.ts";

type Echo = {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly bytes: number;
  readonly sha256: string;
};

type Image = "app" | "node-server" | "static-files" | "fastapi" | "flask";

const CROWD = 200;
const WORKER_ID = "x-runpod-worker-id";

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const valuesOf = ({ headers }: Echo, name: string): readonly string[] =>
  headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);

describe.runIf(await isDockerAvailable())("load-balanced endpoints with workers in containers", () => {
  let account: AccountHost;
  let endpointId: string;
  let app: LoadBalancedClient;
  let images: Record<Image, string>;

  /** An endpoint with one worker, which begins to start. */
  async function endpointOf(
    image: Image,
    env: Record<string, string> = {},
    gpuIds = "AMPERE_16",
  ): Promise<string> {
    const name = `direct-${crypto.randomUUID()}`;
    const own = { PORT: "8000", PORT_HEALTH: "8000", ...env };
    const scaling = {
      workersMin: 1,
      workersMax: 1,
      scalerType: "REQUEST_COUNT",
      scalerValue: 1_000,
    } as const;
    const settings = { name, type: "LB", imageName: images[image], env: own, gpuIds, ...scaling } as const;
    return createEndpoint(account, settings);
  }

  const clientOf = async (image: Image, env?: Record<string, string>): Promise<LoadBalancedClient> =>
    new LoadBalancedClient({ ...account, endpointId: await endpointOf(image, env) });

  beforeAll(async () => {
    [account, images] = await Promise.all([startAccountHost("load balancing", "docker"), ensureImages()]);
    endpointId = await endpointOf("app", {}, "ADA_24");
    app = new LoadBalancedClient({ ...account, endpointId });
  });
  afterAll(() => account.stop());

  describe("a request", () => {
    test("reaches the app by the endpoint's host and by its path, and the app's path is the same", async ({
      expect,
    }) => {
      const target = "/echo/a%2Fb/%C3%A9?x=1&x=2&empty=";
      const byPath = await app.json<Echo>(target);
      const byHost = (await (await app.sendToHost(target)).body.json()) as Echo;
      expect([byPath.target, byHost.target]).toEqual([target, target]);
      expect(valuesOf(byPath, "x-forwarded-prefix")).toEqual([`/lb/${endpointId}`]);
      expect(valuesOf(byHost, "x-forwarded-prefix")).toEqual([]);
      expect(valuesOf(byHost, "x-forwarded-host")).toEqual([app.host]);
    });

    test.for(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
      "of the method %s arrives as such",
      async (method, { expect }) => {
        const body = method === "GET" || method === "OPTIONS" ? null : "a body";
        expect(await app.json<Echo>("/echo", { method, body })).toMatchObject({
          method,
          bytes: body?.length ?? 0,
        });
      },
    );

    test("has the headers of its client, and neither its key nor what concerns one connection", async ({
      expect,
    }) => {
      const long = "z".repeat(8_000);
      const headers = {
        "x-odd": 'a="b, c"; d=%20 ~',
        "x-long": long,
        cookie: "one=1; two=2",
        "content-type": "application/x-of-my-own",
      };
      const echo = await app.json<Echo>("/echo", { method: "POST", headers, body: "x" });
      expect(valuesOf(echo, "x-odd")).toEqual([headers["x-odd"]]);
      expect(valuesOf(echo, "x-long")).toEqual([long]);
      expect(valuesOf(echo, "cookie")).toEqual([headers.cookie]);
      expect(valuesOf(echo, "content-type")).toEqual([headers["content-type"]]);
      expect(valuesOf(echo, "x-forwarded-proto")).toEqual(["http"]);
      expect(JSON.stringify(echo)).not.toContain(account.apiKey);
      expect(valuesOf(echo, "authorization")).toEqual([]);
    });

    test("says nothing of an address that only its client names", async ({ expect }) => {
      const headers = { "cf-connecting-ip": "192.0.2.7", "mf-cf-blob": '{"country":"CH"}' };
      const echo = await app.json<Echo>("/echo", { method: "POST", headers, body: "x" });
      expect(valuesOf(echo, "x-real-ip")).toEqual([]);
      expect(valuesOf(echo, "x-forwarded-for")).toEqual([]);
    });

    test("loses what concerns its client's connection, and what that calls so", async ({ expect }) => {
      const headers = { connection: "close, X-Own", "x-own": "1", "keep-alive": "timeout=5", te: "trailers" };
      const { answer } = app.begin("/echo", { headers: { ...headers, "x-other": "2" } });
      const echo = (await json(await answer)) as Echo;
      const names = echo.headers.map(([name]) => name.toLowerCase());
      expect(names).not.toEqual(expect.arrayContaining([expect.stringMatching(/^(x-own|keep-alive|te)$/)]));
      expect(valuesOf(echo, "connection").join()).not.toMatch(/x-own/i);
      expect(valuesOf(echo, "x-other")).toEqual(["2"]);
    });

    test("without a key, or with a wrong one, does not reach the app", async ({ expect }) => {
      for (const authorization of ["", "Bearer er_wrong"]) {
        const answer = await app.send("/echo", { headers: { authorization } });
        expect([answer.statusCode, await answer.body.json()]).toMatchObject([401, { status: 401 }]);
      }
    });
  });

  describe("an answer", () => {
    const answerWith = async (given: {
      readonly status: number;
      readonly headers?: readonly (readonly [string, string])[];
      readonly body?: Buffer;
    }) =>
      app.send(
        `/answer?with=${encodeURIComponent(JSON.stringify({ ...given, body: given.body?.toString("base64") }))}`,
      );

    test("has the status, the headers and each of the cookies that the app gave", async ({ expect }) => {
      const headers = [
        ["set-cookie", "a=1; Path=/"],
        ["set-cookie", "b=2; Expires=Sat, 21 Nov 2026 20:00:00 GMT"],
        ["x-odd", "a, b"],
      ] as const;
      const answer = await answerWith({ status: 418, headers, body: Buffer.from("short and stout") });
      expect(answer.statusCode).toBe(418);
      // They came by the path /lb/<endpoint>, and are for it.
      expect(answer.headers["set-cookie"]).toEqual([
        `a=1; Path=/lb/${endpointId}/`,
        `${headers[1][1]}; Path=/lb/${endpointId}/`,
      ]);
      expect(answer.headers["content-security-policy"]).toBe("sandbox");
      expect(answer.headers["x-odd"]).toBe("a, b");
      expect(answer.headers[WORKER_ID]).toMatch(/^[\w-]+$/);
      expect(await answer.body.text()).toBe("short and stout");
    });

    test("that is compressed stays so, byte by byte", async ({ expect }) => {
      const packed = gzipSync("compressed by the app ".repeat(500));
      const headers = [
        ["content-encoding", "gzip"],
        ["content-type", "text/plain"],
      ] as const;
      const answer = await answerWith({ status: 200, headers, body: packed });
      expect(answer.headers["content-encoding"]).toBe("gzip");
      expect(sha256(await answer.body.bytes())).toBe(sha256(packed));
    });

    test("of 204, 304 or a redirect has no body and is not followed", async ({ expect }) => {
      for (const [status, headers] of [
        [204, []],
        [304, [["etag", '"v1"']]],
        [307, [["location", "https://example.com/elsewhere"]]],
      ] as const) {
        const answer = await answerWith({ status, headers });
        expect([answer.statusCode, await answer.body.text()]).toEqual([status, ""]);
        for (const [name, value] of headers) expect(answer.headers[name]).toBe(value);
      }
    });
  });

  describe("bodies", () => {
    test("of 30 MB pass whole, with a length and in chunks, both ways", async ({ expect }) => {
      const body = Buffer.alloc(LOAD_BALANCED_BODY_MAX_BYTES, "thirty megabytes ");
      for (const sent of [body, piecesOf(body)]) {
        const echo = await app.json<Echo>("/echo", { method: "POST", body: sent });
        expect([echo.bytes, echo.sha256]).toEqual([body.length, sha256(body)]);
      }
      const answer = await app.send(`/bytes/${LOAD_BALANCED_BODY_MAX_BYTES}`);
      const received = await answer.body.bytes();
      expect(received.length).toBe(LOAD_BALANCED_BODY_MAX_BYTES);
      expect(sha256(received)).toBe(sha256(pattern(LOAD_BALANCED_BODY_MAX_BYTES)));
    });

    test("with one byte more are refused, or cut where the head is on its way", async ({ expect }) => {
      const body = Buffer.alloc(LOAD_BALANCED_BODY_MAX_BYTES + 1);
      const announced = await app.send("/echo", { method: "POST", body });
      expect([announced.statusCode, await announced.body.json()]).toMatchObject([
        413,
        { code: "payload_too_large" },
      ]);
      const chunked = await app.send("/echo", { method: "POST", body: piecesOf(body) });
      expect([chunked.statusCode, await chunked.body.json()]).toMatchObject([
        413,
        { code: "payload_too_large" },
      ]);
      const answer = await app.send(`/bytes/${LOAD_BALANCED_BODY_MAX_BYTES + 1}`);
      await expect(answer.body.bytes()).rejects.toThrow();
    });
  });

  test("200 requests at a time are with one worker at the same time", async ({ expect }) => {
    const name = crypto.randomUUID();
    const answers = Array.from({ length: CROWD }, () => app.json<number>(`/case/${name}/meet/${CROWD}`));
    expect(new Set(await Promise.all(answers))).toEqual(new Set([CROWD]));
  });

  test("each chunk of a streamed answer arrives before the app sends the next", async ({ expect }) => {
    const name = crypto.randomUUID();
    const begun = app.begin(`/case/${name}/chunks`);
    const chunks = (await begun.answer)[Symbol.asyncIterator]();
    const next = async () => String((await chunks.next()).value);
    const received = [await next()];
    for (let count = 0; count < 5; count += 1) {
      await app.json(`/case/${name}/next`, { method: "POST" });
      received.push(await next());
    }
    begun.reset();
    expect(received).toEqual(["1\n", "2\n", "3\n", "4\n", "5\n", "6\n"]);
  });

  describe("a WebSocket", () => {
    test.for([{ isByHost: false }, { isByHost: true }])(
      "carries text, binary and a megabyte both ways, %o",
      async ({ isByHost }, { expect }) => {
        const open = await app.open(`/case/${crypto.randomUUID()}/socket`, { isByHost });
        const large = Buffer.alloc(1_000_000, "one megabyte ");
        for (const sent of ["", "héllo", Buffer.from([0, 255, 1]), large, large.toString()]) {
          open.socket.send(sent);
          const { data, isBinary } = await open.next();
          expect(isBinary).toBe(typeof sent !== "string");
          expect(sha256(data)).toBe(sha256(Buffer.from(sent)));
        }
        open.socket.close(1000);
        await open.closed;
      },
    );

    test("is closed with the code and the reason of the side that closes it", async ({ expect }) => {
      const name = crypto.randomUUID();
      const byClient = await app.open(`/case/${name}/socket`);
      byClient.socket.close(4001, "I am going");
      expect(await app.told(name, "closed")).toContain("closed 4001 I am going");
      expect(await byClient.closed).toEqual({ code: 4001, reason: "I am going" });

      const byApp = await app.open(`/case/${crypto.randomUUID()}/socket`);
      byApp.socket.send("close 4002 that is all");
      expect(await byApp.closed).toEqual({ code: 4002, reason: "that is all" });
    });
  });

  describe("a client that goes", () => {
    test("while it waits for a worker is waited for no more", async ({ expect }) => {
      const id = await endpointOf("app", { APP_HEALTH: "204" }, "ADA_24");
      await using client = new LoadBalancedClient({ ...account, endpointId: id });
      const queue = new QueueClient({ ...account, endpointId: id });
      const waiting = async () => (await queue.health()).jobs.inQueue;
      const begun = client.begin("/echo");
      await expect.poll(waiting, { timeout: 90_000 }).toBe(1);
      begun.reset();
      await expect.poll(waiting, { timeout: 90_000 }).toBe(0);
    });

    test.for([
      ["in the middle of its upload", "upload", "reset"],
      ["in the ordinary way, in the middle of its upload,", "upload", "leave"],
      ["before the answer begins", "hold", "reset"],
      ["in the ordinary way, before the answer begins,", "hold", "leave"],
      ["in the middle of the answer", "chunks", "reset"],
    ] as const)("%s ends the app's request", async ([, what, going], { expect }) => {
      const name = crypto.randomUUID();
      const upload = { method: "POST", body: Buffer.alloc(100_000) };
      const begun = app.begin(`/case/${name}/${what}`, what === "upload" ? upload : {});
      await app.told(name, "arrived");
      if (what === "chunks") expect((await begun.answer).statusCode).toBe(200);
      begun[going]();
      expect(await app.told(name, "closed")).toEqual(["arrived", "closed"]);
    });

    test("in the ordinary way, in the middle of the answer, is missed when the next chunks come", async ({
      expect,
    }) => {
      const name = crypto.randomUUID();
      const answer = await app.send(`/case/${name}/chunks`);
      await leave(answer);
      const told = app.told(name, "closed");
      let isOver = false;
      void told.then(() => (isOver = true));
      await until(async () => {
        await app.json(`/case/${name}/next`, { method: "POST" });
        return isOver;
      }, "the app is told that its client has left");
      expect(await told).toEqual(["arrived", "closed"]);
    });

    test("in the middle of a WebSocket ends it as well", async ({ expect }) => {
      const name = crypto.randomUUID();
      const open = await app.open(`/case/${name}/socket`);
      await app.told(name, "arrived");
      open.socket.terminate();
      expect((await app.told(name, "closed")).at(-1)).toMatch(/^closed 100[16]/);
    });

    test("leaves nothing that counts as under way", async ({ expect }) => {
      const queue = new QueueClient({ ...account, endpointId });
      const underWay = async () => {
        const { inQueue, inProgress } = (await queue.health()).jobs;
        return { inQueue, inProgress };
      };
      await expect.poll(underWay, { timeout: 90_000 }).toEqual({ inQueue: 0, inProgress: 0 });
    });
  });

  test("calls to the wrong kind of endpoint fail with wrong_endpoint_type", async ({ expect }) => {
    const run = await fetch(`${account.baseUrl}/v2/${endpointId}/run`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.apiKey}` },
      body: JSON.stringify({ input: 1 }),
    });
    expect([run.status, await run.json()]).toMatchObject([400, { code: "wrong_endpoint_type" }]);

    const queued = await createEndpoint(account, { name: "queued", imageName: "none:1" });
    await using client = new LoadBalancedClient({ ...account, endpointId: queued });
    const answer = await client.send("/echo");
    expect([answer.statusCode, await answer.body.json()]).toMatchObject([
      400,
      { code: "wrong_endpoint_type" },
    ]);
  });

  test("a worker that dies while it answers costs those requests alone, and they say why", async ({
    expect,
  }) => {
    const name = crypto.randomUUID();
    const held = app.send(`/case/${name}/hold`);
    const streamed = await app.send(`/case/${crypto.randomUUID()}/chunks`);
    await app.told(name, "arrived");
    const killed = app.send(`/case/${name}/exit`, { method: "POST" });
    const answer = await held;
    const body = (await answer.body.json()) as { code: string; error: string };
    expect([answer.statusCode, body.code]).toEqual([502, "worker_failed"]);
    expect(body.error).toMatch(/worker/i);
    await expect(streamed.body.text()).rejects.toThrow();
    expect((await killed).statusCode).toBe(502);
    // Until the end of its container is noticed, it refuses what comes.
    let next = await app.send("/echo");
    for (; next.statusCode === 502; next = await app.send("/echo")) {
      expect(await next.body.json()).toMatchObject({ code: "worker_failed" });
    }
    expect([next.statusCode, await next.body.json()]).toMatchObject([200, { method: "GET" }]);
  });

  // The examples

  test("of files answers ranges, validators and gzip as the file server does", async ({ expect }) => {
    await using files = await clientOf("static-files", { HEALTH_CHECK_PATH: "/" });
    const whole = await files.send("/opticks.txt");
    const bytes = Buffer.from(await whole.body.bytes());
    const etag = String(whole.headers["etag"]);

    const head = await files.send("/opticks.txt", { method: "HEAD" });
    expect([head.statusCode, head.headers["content-length"], await head.body.text()]).toEqual([
      200,
      String(bytes.length),
      "",
    ]);
    const range = await files.send("/opticks.txt", { headers: { range: "bytes=10-29" } });
    expect([range.statusCode, range.headers["content-range"], await range.body.text()]).toEqual([
      206,
      `bytes 10-29/${bytes.length}`,
      bytes.toString("utf8", 10, 30),
    ]);
    const same = await files.send("/opticks.txt", { headers: { "if-none-match": etag } });
    expect([same.statusCode, await same.body.text()]).toEqual([304, ""]);
    const packed = await files.send("/opticks.txt", { headers: { "accept-encoding": "gzip" } });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(await packed.body.bytes()).equals(bytes)).toBe(true);
  });

  test.for(["node-server", "fastapi", "flask"] as const)(
    "of the %s example counts, takes, gives, streams and talks",
    async (name, { expect }) => {
      await using example = await clientOf(name, { LOAD_SECONDS: "0.5" });
      const json = { "content-type": "application/json" };
      const post = async <Body>(path: string, body: unknown) =>
        example.json<Body>(path, { method: "POST", headers: json, body: JSON.stringify(body) });

      expect(await post("/count", { text: "one two" })).toEqual({ wordCount: 2, characterCount: 7 });
      await tradeFiles(example, expect);
      await readNotes(example, post, expect);
      if (name === "flask") return;
      const open = await example.open("/talk");
      open.socket.send("to myself");
      expect(String((await open.next()).data)).toBe("to myself");
      open.socket.close();
      await open.closed;
    },
  );
});

async function ensureImages(): Promise<Record<Image, string>> {
  return inTurn("direct-images", async () => ({
    app: await ensureLoadBalancedAppImage(),
    "node-server": (await ensureNodeServerImage()).image,
    "static-files": (await ensureStaticFilesImage()).image,
    fastapi: await ensureWorkerImage("fastapi"),
    flask: await ensureWorkerImage("flask"),
  }));
}

async function tradeFiles(example: LoadBalancedClient, expect: ExpectStatic): Promise<void> {
  const body = Buffer.alloc(LOAD_BALANCED_BODY_MAX_BYTES, "a file ");
  const taken = await example.json("/files", { method: "POST", body });
  expect(taken).toEqual({ bytes: body.length, sha256: sha256(body) });
  const given = await example.send(`/files/${LOAD_BALANCED_BODY_MAX_BYTES}`);
  const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  expect(sha256(await given.body.bytes())).toBe(
    sha256(Buffer.alloc(LOAD_BALANCED_BODY_MAX_BYTES, everyByte)),
  );
}

/** A note is posted only when the one before it has been read. */
async function readNotes(
  example: LoadBalancedClient,
  post: (path: string, body: unknown) => Promise<unknown>,
  expect: ExpectStatic,
): Promise<void> {
  const notes = await example.send("/notes");
  expect(notes.headers["content-type"]).toMatch(/^text\/event-stream/);
  const events = notes.body[Symbol.asyncIterator]();
  let text = String((await events.next()).value);
  for (const note of ["first", "second", "third"]) {
    expect(await post("/notes", { note })).toEqual({ readers: 1 });
    while (!text.endsWith(`data: ${note}\n\n`)) text += String((await events.next()).value);
  }
  expect(text).toBe("event: open\ndata: \n\ndata: first\n\ndata: second\n\ndata: third\n\n");
  await leave(notes);
}

/** The client goes in the middle of the answer. */
async function leave({ body }: LoadBalancedAnswer): Promise<void> {
  await new Promise<void>((resolve) => {
    body.on("error", () => {}).on("close", () => resolve());
    body.destroy();
  });
}

/** As load-balanced-app.mjs sends it. */
function pattern(bytes: number): Buffer {
  const piece = Buffer.alloc(64 * 1024, "edgerun");
  return Buffer.concat(Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece)).subarray(
    0,
    bytes,
  );
}

function piecesOf(body: Buffer): Readable {
  const starts = Array.from({ length: Math.ceil(body.length / 100_000) }, (_, index) => index * 100_000);
  return Readable.from(starts.map((at) => body.subarray(at, at + 100_000)));
}
