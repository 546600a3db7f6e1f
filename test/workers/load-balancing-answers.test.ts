/** What becomes of a worker's answer on its way to the client. */
import { expect, test, vi } from "vitest";
import type { ResponseHead } from "../../src/link/link-messages.ts";
import { encodeJson } from "../../src/link/link-messages.ts";
import { openAnswer, type WorkerAnswer } from "../../src/gateway/load-balancing/answer.ts";
import { copyStream } from "../../src/gateway/load-balancing/stream-copy.ts";

type Body = WorkerAnswer["body"];

async function open(
  head: Partial<ResponseHead>,
  body: Body = null,
  method = "GET",
  prefix = "",
): Promise<Response> {
  const whole = { status: 200, statusText: "", headers: [], ...head };
  const answer: WorkerAnswer = { kind: "answer", workerId: "w-1", head: encodeJson(whole), body };
  return await openAnswer(answer, { method, prefix, waitUntil: () => {}, giveUp: () => {} });
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** A body that the test writes. */
function written() {
  const { readable, writable } = new IdentityTransformStream();
  return { body: readable, writer: writable.getWriter() };
}

test("status, status text and all headers but those of the connection arrive as the worker sent them", async () => {
  const response = await open(
    {
      status: 299,
      statusText: "Fine",
      headers: [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["Connection", "close, X-Hop"],
        ["X-Hop", "1"],
        ["Transfer-Encoding", "chunked"],
        ["X-Runpod-Worker-Id", "another"],
        ["ETag", '"x"'],
        ["X-Name", "caf\u00c3\u00a9"],
      ],
    },
    bytesOf("hello"),
  );
  expect(response).toMatchObject({ status: 299, statusText: "Fine" });
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(Object.fromEntries(response.headers)).toEqual({
    "set-cookie": expect.any(String),
    etag: '"x"',
    "x-name": "café",
    "x-runpod-worker-id": "w-1",
  });
  expect(await response.text()).toBe("hello");
});

test("below a path of the API's host an answer affects its endpoint alone", async () => {
  const headers: [string, string][] = [
    ["Set-Cookie", "a=1; Domain=example.com; Path=/; Secure"],
    ["Set-Cookie", "b=2; path=/lb/abc/x"],
    ["Set-Cookie", "c=3; Path=/lb/abcd; HttpOnly"],
    ["Set-Cookie", "d=4"],
    ["Strict-Transport-Security", "max-age=1; includeSubDomains"],
    ["Clear-Site-Data", '"*"'],
    ["Alt-Svc", 'h2="evil.test:443"'],
    ["Service-Worker-Allowed", "/"],
    ["NEL", "{}"],
    ["Report-To", "{}"],
    ["Content-Security-Policy", "sandbox allow-scripts"],
    ["X-Own", "1"],
  ];
  const shared = await open({ headers }, null, "GET", "/lb/abc");
  expect(shared.headers.getSetCookie()).toEqual([
    "a=1; Secure; Path=/lb/abc/",
    "b=2; Path=/lb/abc/x",
    "c=3; HttpOnly; Path=/lb/abc/lb/abcd",
    "d=4; Path=/lb/abc/",
  ]);
  expect([...shared.headers.keys()].filter((name) => name !== "set-cookie")).toEqual([
    "content-security-policy",
    "x-own",
    "x-runpod-worker-id",
  ]);
  expect(shared.headers.get("Content-Security-Policy")).toBe("sandbox allow-scripts, sandbox");

  const own = await open({ headers });
  expect(own.headers.getSetCookie()).toEqual([
    "a=1; Path=/; Secure",
    "b=2; path=/lb/abc/x",
    "c=3; Path=/lb/abcd; HttpOnly",
    "d=4",
  ]);
  expect(own.headers.get("Strict-Transport-Security")).toBe("max-age=1; includeSubDomains");
  expect(own.headers.get("Content-Security-Policy")).toBe("sandbox allow-scripts");
});

test("a body that is encoded stays as it is", async () => {
  const headers: [string, string][] = [["Content-Encoding", "gzip"]];
  const response = await open({ headers }, new Uint8Array([0x1f, 0x8b, 0, 1, 2]));
  expect(response.headers.get("Content-Encoding")).toBe("gzip");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([0x1f, 0x8b, 0, 1, 2]));
});

test.for([
  ["HEAD", 200],
  ["GET", 204],
  ["GET", 205],
  ["GET", 304],
] as const)("%s with status %i has no body, even if the worker sends one", async ([method, status]) => {
  for (const body of [null, bytesOf("x"), written().body]) {
    const response = await open({ status, headers: [["Content-Length", "9"]] }, body, method);
    expect(response).toMatchObject({ status, body: null });
    expect(response.headers.get("Content-Length")).toBe("9");
  }
});

test.for<Partial<ResponseHead>>([
  { status: 99 },
  { status: 150 },
  { status: 600 },
  { statusText: "a\nb" },
  { headers: [["X A", "1"]] },
  { headers: [["X-A", "1\r\nX-B: 2"]] },
  { headers: [["Content-Length", "many"]] },
])("an answer that HTTP does not know is the worker's failure: %o", async (head) => {
  const body = written().body;
  await expect(open(head, body)).rejects.toMatchObject({
    code: "worker_failed",
    details: { workerId: "w-1" },
  });
});

test.for([
  ["shorter than", "hello"],
  ["longer than", "hello, world"],
  ["missing beside", null],
] as const)("a body that is %s its Content-Length is the worker's failure", async ([, body]) => {
  const head: Partial<ResponseHead> = { headers: [["Content-Length", "7"]] };
  await expect(open(head, body === null ? null : bytesOf(body))).rejects.toMatchObject({
    code: "worker_failed",
    message: expect.stringContaining("Content-Length"),
  });
  expect((await open(head, bytesOf("7 bytes"))).status).toBe(200);
});

test("each piece of a stream is delivered before the next one exists", async () => {
  const { body, writer } = written();
  const response = await open({}, body);
  const reader = response.body?.getReader();
  for (const piece of ["data: 1\n\n", "data: 2\n\n"]) {
    const write = writer.write(bytesOf(piece));
    const read = await reader?.read();
    await write;
    expect(new TextDecoder().decode(read?.value)).toBe(piece);
  }
  await writer.close();
  expect((await reader?.read())?.done).toBe(true);
});

test("a stream that the worker breaks off is broken off for the client", async () => {
  const { body, writer } = written();
  const response = await open({}, body);
  const text = response.text();
  await writer.write(bytesOf("begin"));
  await writer.abort(new Error("gone"));
  await expect(text).rejects.toThrow(/./);
});

test("a client that does not read a response to its end stops it", async () => {
  const { body, writer } = written();
  const { readable, writable } = new IdentityTransformStream();
  const reasons: string[] = [];
  const passed = copyStream(body, writable, { limitMs: 1_000, giveUp: (reason) => reasons.push(reason) });
  await readable.cancel();
  await writer.write(bytesOf("x"));
  await passed;
  expect(reasons).toEqual(["aborted"]);
  await expect(writer.write(bytesOf("x"))).rejects.toThrow(/./);
});

test("a silent worker is declared lost, and its answer is broken off", async () => {
  const { body } = written();
  const { readable, writable } = new IdentityTransformStream();
  const reasons: string[] = [];
  const passed = copyStream(body, writable, { limitMs: 20, giveUp: (reason) => reasons.push(reason) });
  await expect(new Response(readable).text()).rejects.toThrow(/./);
  await passed;
  expect(reasons).toEqual(["timeout"]);
});

test("a client that does not read for long does not make its worker count as silent", async () => {
  vi.useFakeTimers();
  const { body, writer } = written();
  const { readable, writable } = new IdentityTransformStream();
  const reasons: string[] = [];
  const passed = copyStream(body, writable, { limitMs: 1_000, giveUp: (reason) => reasons.push(reason) });
  await writer.write(bytesOf("x"));
  await vi.advanceTimersByTimeAsync(10_000);
  await writer.close();
  expect(await new Response(readable).text()).toBe("x");
  await passed;
  expect(reasons).toEqual([]);
  vi.useRealTimers();
});
