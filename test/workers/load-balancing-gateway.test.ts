/** Requests of load-balanced endpoints from their clients, through the whole edge, to an agent's link and back. */
import edge from "../../src/index.ts";
import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { beforeEach, afterEach, describe, test, vi } from "vitest";
import { FRAME } from "../../src/link/link-frame.ts";
import type { RequestHead } from "../../src/link/link-messages.ts";
import {
  LOAD_BALANCED_WAIT_MS,
  LOAD_BALANCED_STRICT_WAIT_MS,
} from "../../src/gateway/load-balancing/affinity.ts";
import { LOAD_BALANCED_REQUESTS_MAX } from "../../src/endpoint/load-balancing/forward-handlers.ts";
import { findAnyEndpoint } from "../../src/management/endpoints/endpoint-directory.ts";
import { WorkerSearch } from "../../src/gateway/load-balancing/worker-search.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { forward, headOf, LB, linkedEndpoint, ScriptedLink, text } from "./link-client.ts";
import { channelOf, kill, noChannelOf, passTime, notifyChannels } from "./object.ts";
import { withMeantimeBefore } from "./tapped-database.ts";

const api = new EdgeClient();
const { createEndpoint, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
afterEach(() => void vi.useRealTimers());

/** Calls the endpoint by an address of its own, or by its path. */
function ask(
  address: string,
  init: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  const headers = { Authorization: `Bearer ${api.key}`, ...init.headers };
  return exports.default.fetch(address, { redirect: "manual", ...init, headers });
}

const valueOf = ({ headers }: RequestHead, name: string) =>
  headers.find(([own]) => own.toLowerCase() === name)?.[1];

/** A load-balanced endpoint with a worker that takes no requests yet. */
async function unreadyEndpoint() {
  const endpointId = await createEndpoint(`${LB}, workersMin: 1`);
  const agent = await ScriptedAgent.join(api, "linked");
  const workerId = await agent.bringUpWorker(endpointId);
  return { endpointId, workerId, link: new ScriptedLink(await agent.openLink(endpointId)) };
}

async function rejectionOf(response: Promise<Response>) {
  const { status, headers, ...rest } = await response.then(async (answer) => ({
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as Record<string, unknown>,
  }));
  return { status, headers: Object.fromEntries(headers), ...rest };
}

describe("a request", () => {
  test("reaches a worker by the endpoint's path, and its response returns", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const asked = ask(`http://edge/lb/${endpointId}/a%20b/%2F?x=%zz&y`, { headers: { Cookie: "c=1" } });
    const { stream, head, hasBody } = await link.open();
    expect(head).toMatchObject({ kind: "http", method: "GET", target: "/a%20b/%2F?x=%zz&y" });
    expect(hasBody).toBe(false);
    expect(valueOf(head, "x-forwarded-prefix")).toBe(`/lb/${endpointId}`);
    expect(valueOf(head, "cookie")).toBe("c=1");
    expect(valueOf(head, "authorization")).toBeUndefined();
    link.answer(stream, "made", { status: 201, statusText: "Created", headers: [["X-Own", "1"]] });
    const answer = await asked;
    expect(answer).toMatchObject({ status: 201, statusText: "Created" });
    expect(answer.headers.get("X-Own")).toBe("1");
    expect(answer.headers.get("X-Runpod-Worker-Id")).toBe(workerId);
    expect(await answer.text()).toBe("made");
  });

  test("reaches it by a host of the endpoint, whatever stands at that path of the edge", async ({
    expect,
  }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    for (const host of [`${endpointId}.lb.localhost:8787`, `${endpointId.toUpperCase()}.localhost`]) {
      const asked = ask(`http://${host}/v2/x/run?y=1`, { method: "DELETE" });
      const { stream, head } = await link.open();
      expect(head).toMatchObject({ method: "DELETE", target: "/v2/x/run?y=1" });
      expect(valueOf(head, "x-forwarded-prefix")).toBeUndefined();
      expect(valueOf(head, "x-forwarded-host")?.toLowerCase()).toBe(host.toLowerCase());
      link.answer(stream, "");
      expect((await asked).status).toBe(200);
    }
  });

  test("carries its body, short, long, or of unknown length", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const long = new Uint8Array(1_000_000).map((_, index) => index % 251);
    const unknown = () => new Blob([long]).stream().pipeThrough(new TransformStream());
    for (const [body, sent] of [
      ["short", new TextEncoder().encode("short")],
      [long, long],
      [unknown(), long],
    ] as const) {
      const asked = ask(`http://edge/lb/${endpointId}/`, { method: "POST", body });
      const { stream, head, hasBody } = await link.open();
      expect(hasBody).toBe(true);
      const length = body instanceof ReadableStream ? undefined : `${sent.byteLength}`;
      expect(valueOf(head, "content-length")).toBe(length);
      const got = await link.body(stream);
      expect(got.byteLength).toBe(sent.byteLength);
      expect(got.every((byte, index) => byte === sent[index])).toBe(true);
      link.answer(stream, "ok");
      expect(await (await asked).text()).toBe("ok");
    }
  });

  test("gets its answer piece by piece", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const asked = ask(`http://edge/lb/${endpointId}/events`);
    const { stream } = await link.open();
    link.head(stream, { status: 200, statusText: "", headers: [["Content-Type", "text/event-stream"]] });
    const reader = (await asked).body?.getReader();
    for (const piece of ["data: 1\n\n", "data: 2\n\n"]) {
      link.data(stream, piece);
      expect(text((await reader?.read())?.value ?? new Uint8Array())).toBe(piece);
    }
    link.end(stream);
    expect((await reader?.read())?.done).toBe(true);
  });

  test("reads no database once its key and its endpoint are cached", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    let questions = 0;
    const bindings = withMeantimeBefore(1, async () => (questions += 1));
    for (const expected of [0, 0]) {
      const context = createExecutionContext();
      const request = new Request(`http://edge/lb/${endpointId}/`, {
        headers: { Authorization: `Bearer ${api.key}` },
      });
      const asked = edge.fetch(request, bindings, context);
      const { stream } = await link.open();
      link.answer(stream, "");
      await asked;
      expect(questions).toBe(expected);
    }
  });
});

describe("a request that no worker can take", () => {
  test("waits for one", async ({ expect }) => {
    const { endpointId, link, workerId } = await unreadyEndpoint();
    const asked = ask(`http://edge/lb/${endpointId}/`, {
      headers: { "X-Runpod-Worker-Id": `strict ${workerId}` },
    });
    await channelOf(endpointId, "direct");
    link.ready(workerId);
    const { stream } = await link.open();
    link.answer(stream, "late");
    expect(await (await asked).text()).toBe("late");
  });

  test.for([
    ["", LOAD_BALANCED_WAIT_MS],
    ["strict ", LOAD_BALANCED_STRICT_WAIT_MS],
  ] as const)("ends with 400 when its time is over: '%s'", async ([mode, patienceMs], { expect }) => {
    const { endpointId, workerId } = await unreadyEndpoint();
    vi.useFakeTimers({ toFake: ["Date"] });
    const headers = { "X-Runpod-Worker-Id": `${mode}${workerId}` };
    const refused = rejectionOf(ask(`http://edge/lb/${endpointId}/`, { headers }));
    await channelOf(endpointId, "direct");
    passTime(patienceMs);
    await notifyChannels(endpointId, "direct");
    expect(await refused).toMatchObject({
      status: 400,
      body: {
        code: "worker_timeout",
        status: 400,
        detail: expect.stringMatching(/^timed out waiting for worker: /),
      },
    });
  });

  test("gets 410 or an error when the requested worker no longer exists", async ({ expect }) => {
    const { endpointId } = await linkedEndpoint(api);
    const headers = { "X-Runpod-Worker-Id": "strict nobody" };
    expect(await rejectionOf(ask(`http://edge/lb/${endpointId}/`, { headers }))).toMatchObject({
      status: 404,
      body: { code: "affinity_worker_gone", status: 404 },
    });
  });

  test("requests no worker after its client has left", async ({ expect }) => {
    const { endpointId, link, workerId } = await unreadyEndpoint();
    const endpoint = await findAnyEndpoint(env, endpointId);
    if (!endpoint) throw new Error("no endpoint");
    const client = new AbortController();
    const { signal } = client;
    const executionCtx = createExecutionContext();
    let asked = 0;
    const seek = () => {
      const search = new WorkerSearch({
        env,
        endpoint,
        affinity: null,
        signal,
        executionCtx,
        limitMs: 60_000,
      });
      const { requestId, receivedAt } = search;
      return search.ask((stub) => {
        asked += 1;
        return stub.forward({ requestId, head: headOf(), body: null, affinity: null, receivedAt });
      });
    };
    const waiting = seek();
    await channelOf(endpointId, "direct");
    client.abort();
    await expect(waiting).rejects.toThrow("client has gone");
    await expect(seek()).rejects.toThrow("client has gone");
    expect(asked).toBe(1);
    await noChannelOf(endpointId, "direct");
    link.ready(workerId);
    await link.heard();
    expect(link.unread).toEqual([]);
  });

  test("is answered with Retry-After when there are too many", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const others = Array.from({ length: LOAD_BALANCED_REQUESTS_MAX }, () => forward(endpointId));
    const refused = await rejectionOf(ask(`http://edge/lb/${endpointId}/`));
    expect(refused).toMatchObject({
      status: 429,
      headers: { "retry-after": "1" },
      body: { code: "rate_limited", status: 429 },
    });
    link.socket.close(1000);
    await Promise.all(others);
  });
});

describe("a worker that fails", () => {
  const failures: readonly (readonly [string, (link: ScriptedLink, stream: number) => void, RegExp])[] = [
    [
      "it breaks the connection",
      (link, stream) => link.reset(stream, "worker_failed", "It was rude."),
      /It was rude/,
    ],
    ["it answers nonsense", (link, stream) => link.answer(stream, "", { status: 700 } as never), /./],
    ["its host is lost", (link) => link.socket.close(1000), /./],
  ];

  test.for(failures)("gives 502: %s", async ([, fail, detail], { expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const refused = rejectionOf(ask(`http://edge/lb/${endpointId}/`));
    const { stream } = await link.open();
    fail(link, stream);
    expect(await refused).toMatchObject({
      status: 502,
      headers: { "x-runpod-worker-id": workerId },
      body: { code: "worker_failed", status: 502, detail: expect.stringMatching(detail) },
    });
  });

  test("gives 502 as well when the endpoint's object dies", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const refused = rejectionOf(ask(`http://edge/lb/${endpointId}/`));
    await link.open();
    await kill(endpointId);
    expect(await refused).toMatchObject({ status: 502, body: { code: "worker_failed" } });
  });

  test("gives 524 when it does not answer, and the worker gets a reset", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const endpoint = await findAnyEndpoint(env, endpointId);
    if (!endpoint) throw new Error("no endpoint");
    const executionCtx = createExecutionContext();
    const { signal } = new AbortController();
    const search = new WorkerSearch({ env, endpoint, affinity: null, signal, executionCtx, limitMs: 50 });
    const asked = search.ask((stub) =>
      stub.forward({
        requestId: search.requestId,
        head: headOf(),
        body: null,
        affinity: null,
        receivedAt: 0,
      }),
    );
    await expect(asked).rejects.toMatchObject({ code: "worker_too_slow" });
    expect((await link.open()).workerId).toBe(workerId);
    expect(text((await link.next(FRAME.RESET)).payload)).toContain('"timeout"');
  });

  test("gives 524 when its host reports that it is too slow", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const refused = rejectionOf(ask(`http://edge/lb/${endpointId}/`));
    link.reset((await link.open()).stream, "timeout");
    expect(await refused).toMatchObject({ status: 524, body: { code: "worker_too_slow", status: 524 } });
  });
});

test("a body that turns out too long on its way gives 413", async ({ expect }) => {
  const { endpointId, link } = await linkedEndpoint(api);
  const body = new Blob(["x"]).stream();
  const refused = rejectionOf(ask(`http://edge/lb/${endpointId}/`, { method: "POST", body }));
  link.reset((await link.open()).stream, "too_large");
  expect(await refused).toMatchObject({ status: 413, body: { code: "payload_too_large", status: 413 } });
});

describe("a WebSocket", () => {
  const UPGRADE = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "chat, other" };

  test("is opened to a worker, with the subprotocol that it has chosen", async ({ expect }) => {
    const { endpointId, link, workerId } = await linkedEndpoint(api);
    const asked = ask(`http://edge/lb/${endpointId}/socket?x`, { headers: UPGRADE });
    const { stream, head } = await link.open();
    expect(head).toMatchObject({ kind: "websocket", target: "/socket?x" });
    expect(valueOf(head, "sec-websocket-protocol")).toBe("chat, other");
    link.head(stream, {
      status: 101,
      statusText: "",
      headers: [
        ["Upgrade", "websocket"],
        ["Sec-WebSocket-Accept", "xyz"],
        ["Sec-WebSocket-Protocol", "chat"],
      ],
    });
    const { status, headers, webSocket } = await asked;
    expect(status).toBe(101);
    expect(headers.get("Sec-WebSocket-Protocol")).toBe("chat");
    expect(headers.get("Sec-WebSocket-Accept")).toBeNull();
    expect(headers.get("X-Runpod-Worker-Id")).toBe(workerId);
    const message = new Promise((resolve) =>
      webSocket?.addEventListener("message", ({ data }) => resolve(data), { once: true }),
    );
    webSocket?.accept();
    webSocket?.send("hello");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("hello");
    link.send({ type: FRAME.TEXT, stream, flags: 2, payload: "and you" });
    expect(await message).toBe("and you");
    await link.next(FRAME.CREDIT);
    webSocket?.close(1000, "enough");
    expect(text((await link.next(FRAME.CLOSE)).payload)).toContain("enough");
  });

  test("that the worker declines gets the answer of the worker", async ({ expect }) => {
    const { endpointId, link } = await linkedEndpoint(api);
    const asked = ask(`http://edge/lb/${endpointId}/`, { headers: UPGRADE });
    const { stream } = await link.open();
    link.answer(stream, "no sockets here", { status: 426, statusText: "", headers: [["X-Own", "1"]] });
    const answer = await asked;
    expect(answer.status).toBe(426);
    expect(answer.headers.get("X-Own")).toBe("1");
    expect(await answer.text()).toBe("no sockets here");
  });

  test("waits for a worker like any other request", async ({ expect }) => {
    const { endpointId, link, workerId } = await unreadyEndpoint();
    const asked = ask(`http://edge/lb/${endpointId}/`, { headers: UPGRADE });
    await channelOf(endpointId, "direct");
    link.ready(workerId);
    const { stream } = await link.open();
    link.head(stream, { status: 101, statusText: "", headers: [] });
    expect((await asked).status).toBe(101);
  });

  test("of an unknown endpoint is rejected before anything is opened", async ({ expect }) => {
    expect(await rejectionOf(ask("http://edge/lb/nobody/", { headers: UPGRADE }))).toMatchObject({
      status: 404,
    });
  });
});

test("another account's endpoint is not found", async ({ expect }) => {
  const { endpointId, link } = await linkedEndpoint(api);
  await signInAsNewAccount();
  for (const address of [`http://edge/lb/${endpointId}/`, `http://${endpointId}.lb.localhost/`]) {
    expect(await rejectionOf(ask(address))).toMatchObject({
      status: 404,
      body: { code: "endpoint_not_found" },
    });
  }
  expect(link.unread).toEqual([]);
});

test("an unconfigured object gets its configuration with the first request", async () => {
  const endpointId = await createEndpoint(`${LB}, workersMin: 0`);
  await kill(endpointId);
  const context = createExecutionContext();
  void edge.fetch(
    new Request(`http://edge/lb/${endpointId}/`, { headers: { Authorization: `Bearer ${api.key}` } }),
    env,
    context,
  );
  await channelOf(endpointId, "direct");
});
