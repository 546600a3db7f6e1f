/** Tunnels, from a client through the edge to the link of the host that runs the container. */
import { env, exports } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { beforeEach, describe, test } from "vitest";
import { environmentKey, podKey } from "../../src/auth/derived-keys.ts";
import { openDatabase } from "../../src/db/database.ts";
import { apiKey, auditEntry } from "../../src/db/schema.ts";
import { forgetApiKey } from "../../src/auth/principal.ts";
import type { Permissions } from "../../src/domain/accounts/permissions.ts";
import { decodeCredit, FRAME } from "../../src/link/link-frame.ts";
import { LINK_WINDOW_BYTES, LINK_WINDOW_MAX_BYTES } from "../../src/link/link-window.ts";
import { TUNNEL_CLOSE, TUNNEL_MESSAGE_MAX_BYTES } from "../../src/tunnel/tunnel-messages.ts";
import { freshAccount } from "./accounts.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { keyWith } from "./key-client.ts";
import { bytesOf, json, ScriptedLink, text } from "./link-client.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";
import { restClient, type RestClient } from "./rest-client.ts";
import { soon } from "./support/until.ts";

const SHELL: Permissions = { graphql: "none", endpoints: "none", shell: true };
const TUNNEL = "0123456789abcdef0123456789abcdef";
const SWITCHED = { status: 101, statusText: "", headers: [] };

let send: RestClient;
let host: PodAgent;
let link: ScriptedLink;
let podId: string;
/** Opens shells and nothing else. */
let key: string;

beforeEach(async () => {
  send = await restClient();
  host = await PodAgent.join(new EdgeClient(send.key));
  link = new ScriptedLink(await host.agent.openHostLink());
  podId = await createPod();
  await host.follow();
  key = await keyWith(send.accountId, SHELL);
});

async function createPod(): Promise<string> {
  const ports = ["8888/http", "22/tcp"];
  const fields = { name: "box", imageName: "acme/app:1", gpuTypeIds: [POD_CARD], gpuCount: 1, ports };
  const { status, body } = await send("POST", "/pods", fields);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}

const exec = (id: string, query = `tunnel=${TUNNEL}`): string => `/tunnels/${id}/exec?${query}`;
const port = (id: string, number: number | string): string =>
  `/tunnels/${id}/ports/${number}?tunnel=${TUNNEL}`;

function ask(path: string, by = key, headers: Record<string, string> = {}): Promise<Response> {
  return exports.default.fetch(`http://edge${path}`, {
    headers: { Authorization: `Bearer ${by}`, Upgrade: "websocket", ...headers },
  });
}

async function rejection(asked: Promise<Response>): Promise<[number, unknown]> {
  const response = await asked;
  return [response.status, ((await response.json()) as { code: unknown }).code];
}

/** A client's end of an open tunnel, and its stream on the link. */
async function opened(path: string, by = key) {
  const asked = ask(path, by);
  const open = await link.open();
  link.head(open.stream, SWITCHED);
  const credit = decodeCredit((await link.next(FRAME.CREDIT)).payload) ?? 0;
  const { webSocket } = await asked;
  if (!webSocket) throw new Error("no WebSocket");
  webSocket.binaryType = "arraybuffer";
  const closed = new Promise<{ code: number }>((resolve) => webSocket.addEventListener("close", resolve));
  const { promise: message, resolve } = Promise.withResolvers<unknown>();
  webSocket.addEventListener("message", ({ data }) => resolve(data));
  webSocket.accept();
  return { ...open, webSocket, closed, message, credit };
}

describe("a tunnel", () => {
  test("reaches a pod over the link of its host, with neither key nor headers of the client", async ({
    expect,
  }) => {
    const asked = ask(exec(podId), key, { "X-Secret": "of the client" });
    const { stream, workerId, port: none, head } = await link.open();
    expect([workerId, none]).toEqual([podId, undefined]);
    expect(head).toEqual({ kind: "exec", tunnelId: TUNNEL, isResumed: false, idleMs: 1_800_000 });
    link.head(stream, { ...SWITCHED, headers: [["Set-Cookie", "of=the-agent"]] });
    const answer = await asked;
    expect([answer.status, answer.headers.get("Set-Cookie")]).toEqual([101, null]);
  });

  test("brings messages either way as they are, and ends with what the agent says", async ({ expect }) => {
    const { stream, webSocket, message, closed, credit } = await opened(exec(podId));
    expect(LINK_WINDOW_BYTES + credit).toBe(LINK_WINDOW_MAX_BYTES);
    webSocket.send("a");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("a");
    webSocket.send(new Uint8Array([0, 255]));
    expect([...(await link.next(FRAME.BINARY)).payload]).toEqual([0, 255]);
    link.send({ type: FRAME.BINARY, stream, flags: 2, payload: bytesOf(3) });
    expect(new Uint8Array((await soon(message, "a message")) as ArrayBuffer)).toEqual(bytesOf(3));
    link.send({ type: FRAME.CLOSE, stream, payload: json({ code: TUNNEL_CLOSE.renew, reason: "" }) });
    expect((await soon(closed, "the close")).code).toBe(TUNNEL_CLOSE.renew);
  });

  test("tells the agent that its client is gone", async ({ expect }) => {
    const { webSocket } = await opened(exec(podId));
    webSocket.close(1000);
    expect(JSON.parse(text((await link.next(FRAME.CLOSE)).payload))).toMatchObject({ code: 1000 });
  });

  test("reaches a port, and a worker of an endpoint", async ({ expect }) => {
    const pod = await opened(port(podId, 5432));
    expect([pod.workerId, pod.port, pod.head.kind]).toEqual([podId, 5432, "tcp"]);

    const account = await freshAccount(); // whose only host runs the worker
    const api = new EdgeClient(account.key);
    const endpointId = await api.createEndpoint("workersMin: 1, workersMax: 1");
    const agent = await ScriptedAgent.join(api, "other");
    const workerId = await agent.bringUpWorker(endpointId);
    link = new ScriptedLink(await agent.openHostLink());
    const shell = await keyWith(account.accountId, SHELL);
    expect(await opened(exec(workerId), shell)).toMatchObject({ workerId, port: undefined });
    const log = `{ myself { endpoints { name } auditLog(input: { subjectId: "${workerId}" }) { subjectName } } }`;
    type Log = { myself: { endpoints: { name: string }[]; auditLog: { subjectName: string }[] } };
    const { myself } = await api.graphql<Log>(log);
    expect(myself.auditLog).toEqual([{ subjectName: myself.endpoints[0]?.name }]);
  });

  test("is refused with what the agent says", async ({ expect }) => {
    for (const [reason, ...expected] of [
      ["worker_gone", 409, "container_not_running"],
      ["worker_failed", 502, "worker_failed"],
      ["tunnel_gone", 410, "tunnel_gone"],
    ] as const) {
      const asked = ask(exec(podId, `tunnel=${TUNNEL}&resume=true`));
      const { stream, head } = await link.open();
      expect(head).toMatchObject({ isResumed: true });
      link.reset(stream, reason, "because of this");
      const answer = await asked;
      const body = (await answer.json()) as { code: string; error: string };
      expect([answer.status, body.code]).toEqual(expected);
      expect(body.error).toContain("because of this");
    }
  });

  test("to a stopped pod is 409, and 503 while its host has no link", async ({ expect }) => {
    link.socket.close();
    expect(await rejection(ask(exec(podId)))).toEqual([503, "host_not_connected"]);
    await send("POST", `/pods/${podId}/stop`);
    await host.follow();
    expect(await rejection(ask(exec(podId)))).toEqual([409, "pod_stopped"]);
  });
});

describe("who may open a tunnel", () => {
  test("is said by `shell`; a declared TCP port takes a key that may change pods", async ({ expect }) => {
    const allowed = async (permissions: Permissions): Promise<boolean[]> => {
      const by = await keyWith(send.accountId, permissions);
      const paths = [exec(podId), port(podId, 22), port(podId, 8888), port(podId, 80)];
      const outcomes: boolean[] = [];
      for (const path of paths) {
        const asked = ask(path, by);
        const refused = await Promise.race([asked, link.open()]);
        if (!(refused instanceof Response)) link.reset(refused.stream, "worker_failed");
        const [status, code] = await rejection(asked);
        expect([401, 502]).toContain(status);
        expect(code).toBe(status === 401 ? "insufficient_permission" : "worker_failed");
        outcomes.push(status === 502);
      }
      return outcomes;
    };
    expect(await allowed(SHELL)).toEqual([true, true, true, true]);
    expect(await allowed({ graphql: "write", endpoints: "write" })).toEqual([false, true, false, false]);
    expect(await allowed({ graphql: "read", endpoints: "write" })).toEqual([false, false, false, false]);
    expect(await allowed({ graphql: "none", endpoints: "none" })).toEqual([false, false, false, false]);
  });

  test("is nobody of another account: its pods are as unknown as those that never were", async ({
    expect,
  }) => {
    const other = await restClient();
    const shell = await keyWith(other.accountId, SHELL);
    const messages: string[] = [];
    for (const path of [
      exec(podId),
      port(podId, 22),
      exec("absent00000000"),
      exec(`${podId}x`),
      exec("%00"),
    ]) {
      for (const by of path.includes("/ports/") ? [shell, other.key] : [shell]) {
        const answer = await ask(path, by);
        const { error, code } = (await answer.json()) as { error: string; code: string };
        expect([answer.status, code], path).toEqual([404, "not_found"]);
        messages.push(error.replace(/worker \S+\./, "worker …."));
      }
    }
    expect(new Set(messages).size).toBe(1);
    await link.heard();
    expect(link.unread).toEqual([]);
  });

  test("is no key of a pod or an environment, no key at all, and no host token", async ({ expect }) => {
    for (const [by, status] of [
      [(await podKey(env, podId)) ?? "", 401],
      [(await environmentKey(env, "environment000")) ?? "", 401],
      ["er_wrong", 401],
      [host.agent.token, 401],
    ] as const) {
      expect((await rejection(ask(exec(podId), by)))[0]).toBe(status);
    }
    const bare = exports.default.fetch(`http://edge${exec(podId)}`, { headers: { Upgrade: "websocket" } });
    expect(await rejection(bare)).toEqual([401, "unauthorized"]);
  });

  test("is checked again when a tunnel is resumed", async ({ expect }) => {
    const { webSocket } = await opened(exec(podId));
    webSocket.close(1000);
    await link.next(FRAME.CLOSE);
    const db = openDatabase(env.DB);
    const [revoked] = await db
      .update(apiKey)
      .set({ revokedAt: Date.now() })
      .where(and(eq(apiKey.accountId, send.accountId), eq(apiKey.name, "limited")))
      .returning();
    forgetApiKey(revoked?.id ?? "");
    expect(await rejection(ask(exec(podId, `tunnel=${TUNNEL}&resume=true`)))).toEqual([401, "unauthorized"]);
  });
});

describe("the audit log", () => {
  test("has each tunnel that was opened, not those resumed or refused", async ({ expect }) => {
    const operations = async () =>
      (await openDatabase(env.DB).select().from(auditEntry).where(eq(auditEntry.subjectId, podId)))
        .filter(({ operation }) => operation.includes("/tunnels/"))
        .map(({ operation, subjectKind, subjectName, fields }) => [
          operation,
          subjectKind,
          subjectName,
          fields,
        ]);
    const asked = ask(exec(podId));
    link.reset((await link.open()).stream, "worker_gone");
    await rejection(asked);
    expect(await operations()).toEqual([]);
    await opened(exec(podId));
    await opened(exec(podId, `tunnel=${TUNNEL}&resume=true`));
    await opened(port(podId, 22));
    expect(await operations()).toEqual([
      ["GET /tunnels/{id}/exec", "pod", "box", ["command"]],
      ["GET /tunnels/{id}/ports/{port}", "pod", "box", ["port 22"]],
    ]);
  });
});

describe("what is no request for a tunnel", () => {
  test("is refused, naming what is wrong", async ({ expect }) => {
    const cases: [string, string][] = [
      [exec(podId, ""), "tunnel"],
      [exec(podId, "tunnel=short"), "tunnel"],
      [exec(podId, `tunnel=${TUNNEL.toUpperCase()}`), "tunnel"],
      [exec(podId, `tunnel=${TUNNEL}0`), "tunnel"],
      [exec(podId, `tunnel=${TUNNEL}&resume=1`), "resume"],
      ...[0, 65_536, -1, "1.5", "x", "0x16", "%20"].map((no): [string, string] => [port(podId, no), "port"]),
    ];
    for (const [path, field] of cases) {
      const answer = await ask(path);
      const { code, error } = (await answer.json()) as { code: string; error: string };
      expect([answer.status, code], path).toEqual([400, "invalid_input"]);
      expect(error, path).toContain(`${field}: `);
    }
    const plain = exports.default.fetch(`http://edge${exec(podId)}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(await rejection(plain)).toEqual([400, "invalid_input"]);
    await link.heard();
    expect(link.unread).toEqual([]);
  });
});

describe("many uploads at once", () => {
  /** With its overhead, what a client may send before the agent has consumed any. */
  const PIECES = 60;
  const piece = bytesOf(TUNNEL_MESSAGE_MAX_BYTES);

  test("are taken as fast as their windows allow, and one too many is cut off alone", async ({ expect }) => {
    const tunnels: Awaited<ReturnType<typeof opened>>[] = [];
    for (let count = 0; count < 13; count += 1) tunnels.push(await opened(exec(podId)));
    for (const { webSocket } of tunnels) for (let sent = 0; sent < PIECES; sent += 1) webSocket.send(piece);
    const closings = tunnels.map(async ({ closed, stream }) => ({ code: (await closed).code, stream }));
    const cutOff = await soon(Promise.race(closings), "one is closed");
    expect(cutOff.code).toBe(1013);

    const others = tunnels.filter(({ stream }) => stream !== cutOff.stream);
    const received = new Map(others.map(({ stream }) => [stream, 0]));
    const isMissing = () => received.values().some((bytes) => bytes < PIECES * piece.byteLength);
    while (isMissing()) {
      const { type, stream, payload } = await link.any();
      if (stream === cutOff.stream) continue;
      expect(type).toBe(FRAME.BINARY);
      received.set(stream, (received.get(stream) ?? 0) + payload.byteLength);
      link.credit(stream, payload.byteLength);
    }
  });
});
