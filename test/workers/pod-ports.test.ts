/** HTTP ports of pods, from anybody's request through the edge to the link of the host that runs the pod. */
import { evictDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { RequestHead } from "../../src/link/link-messages.ts";
import { FLAG_FIN, FRAME } from "../../src/link/link-frame.ts";
import { podObjectName } from "../../src/durable/ports.ts";
import { EdgeClient } from "./edge-client.ts";
import { headOf, ScriptedLink, text } from "./link-client.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";
import { restClient, type RestClient } from "./rest-client.ts";

const PORTS = ["8888/http", "3000/http", "22/tcp"];

let send: RestClient;
let host: PodAgent;

beforeEach(async () => {
  send = await restClient();
  host = await PodAgent.join(new EdgeClient(send.key));
});

afterEach(() => void vi.restoreAllMocks());

async function createPod(): Promise<string> {
  const fields = { imageName: "acme/app:1", gpuTypeIds: [POD_CARD], gpuCount: 1, ports: PORTS };
  const { status, body } = await send("POST", "/pods", fields);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}

function podObject(podId: string) {
  return env.POD.getByName(podObjectName(podId));
}

/** A pod whose host reports over its link that the container runs. */
async function runningPod(): Promise<{ readonly podId: string; readonly link: ScriptedLink }> {
  const podId = await createPod();
  await host.follow();
  const link = new ScriptedLink(await host.agent.openLink(podId, "pods"));
  link.ready(podId);
  await link.heard();
  return { podId, link };
}

function ask(address: string, init: RequestInit = {}): Promise<Response> {
  return exports.default.fetch(address, { redirect: "manual", ...init });
}

async function rejection(address: string): Promise<[number, unknown]> {
  const response = await ask(address);
  return [response.status, ((await response.json()) as { code: unknown }).code];
}

const valueOf = ({ headers }: RequestHead, name: string) =>
  headers.find(([own]) => own.toLowerCase() === name)?.[1];

describe("a request for a port of a pod", () => {
  test("needs no key, and reaches the port by host and by path", async ({ expect }) => {
    const { podId, link } = await runningPod();
    for (const [address, prefix] of [
      [`http://${podId}-8888.proxy.localhost/a%20b/?x=%zz`, undefined],
      [`http://edge/pods/${podId}/8888/a%20b/?x=%zz`, `/pods/${podId}/8888`],
    ] as const) {
      const asked = ask(address, { method: "POST", body: "some" });
      const { stream, workerId, port, head } = await link.open();
      expect([workerId, port]).toEqual([podId, 8888]);
      expect(head).toMatchObject({ method: "POST", target: "/a%20b/?x=%zz" });
      expect(valueOf(head, "x-forwarded-prefix")).toBe(prefix);
      expect(new TextDecoder().decode(await link.body(stream))).toBe("some");
      link.answer(stream, "made", { status: 201, statusText: "Created", headers: [["X-Own", "1"]] });
      const answer = await asked;
      expect([answer.status, answer.headers.get("X-Own"), await answer.text()]).toEqual([201, "1", "made"]);
      expect(answer.headers.get("X-Runpod-Worker-Id")).toBeNull();
      expect(answer.headers.get("Content-Security-Policy")).toBe(prefix === undefined ? null : "sandbox");
    }
  });

  test("brings the pod its own credentials, and none of this service", async ({ expect }) => {
    const { podId, link } = await runningPod();
    for (const [authorization, passed] of [
      ["token secret-of-a-notebook", "token secret-of-a-notebook"],
      ["Basic bm90ZTpib29r", "Basic bm90ZTpib29r"],
      [`Bearer ${send.key}`, undefined],
      [`Basic ${btoa(`user:${send.key}`)}`, undefined],
      [`Bearer ${env.ROOT_API_KEY}`, undefined],
    ] as const) {
      const asked = ask(`http://${podId}-8888.proxy.localhost/`, { headers: { authorization } });
      const { stream, head } = await link.open();
      expect(valueOf(head, "authorization")).toBe(passed);
      link.answer(stream, "done");
      await (await asked).text();
    }
  });

  test("for an unknown pod, or what is not among its HTTP ports, is 404", async ({ expect }) => {
    const { podId, link } = await runningPod();
    for (const address of [
      "http://absent-8888.proxy.localhost/",
      `http://${podId}-.proxy.localhost/`,
      `http://${podId}-8888-1.proxy.localhost/`,
      `http://${podId}-22.proxy.localhost/`,
      `http://${podId}-8889.proxy.localhost/`,
      `http://${podId}-08888x.proxy.localhost/`,
      `http://edge/pods/${podId}/22/`,
      `http://edge/pods/${podId}/x/`,
    ]) {
      expect(await rejection(address), address).toEqual([404, "not_found"]);
    }
    const nameless = (await (await ask(`http://edge/pods/${podId}/x/`)).json()) as { error: string };
    expect(nameless.error).toContain(podId);
    expect(nameless.error).not.toMatch(/\b0\b|NaN/);
    await link.heard();
    expect(link.unread).toEqual([]);
  });

  test("is 502 when its host leaves, and the message is about a pod", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const asked = ask(`http://${podId}-8888.proxy.localhost/`);
    await link.open();
    link.socket.close();
    const answer = await asked;
    const body = (await answer.json()) as { code: string; error: string };
    expect([answer.status, body.code]).toEqual([502, "worker_failed"]);
    expect(body.error).toContain(`Pod ${podId}`);
    expect(body.error).not.toMatch(/\bworker\b/i);
  });

  test("is 503 while the pod starts, and after it was stopped", async ({ expect }) => {
    const podId = await createPod();
    const address = `http://${podId}-8888.proxy.localhost/`;
    expect(await rejection(address)).toEqual([503, "pod_not_running"]);
    await host.follow();
    const link = new ScriptedLink(await host.agent.openLink(podId, "pods"));
    link.ready();
    await link.heard();
    expect(await rejection(address)).toEqual([503, "pod_not_running"]);
    await send("POST", `/pods/${podId}/stop`);
    expect(await rejection(address)).toEqual([503, "pod_not_running"]);
  });

  test("is 502 when nothing listens there, and the next one gets through", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const address = `http://${podId}-3000.proxy.localhost/`;
    const asked = ask(address);
    link.reset((await link.open()).stream, "worker_failed");
    const refused = await asked;
    expect([refused.status, refused.headers.get("X-Runpod-Worker-Id")]).toEqual([502, null]);
    expect(await refused.json()).toMatchObject({ code: "worker_failed" });
    const again = ask(address);
    link.answer((await link.open()).stream, "up");
    expect(await (await again).text()).toBe("up");
  });

  test("is 524 when no answer has begun within 100 s, and the pod hears that nobody waits", async ({
    expect,
  }) => {
    const { podId, link } = await runningPod();
    const wait = globalThis.setTimeout;
    const hurry = (run: () => void, ms?: number) => wait(run, ms === 100_000 ? 500 : ms);
    vi.spyOn(globalThis, "setTimeout").mockImplementation(hurry as typeof setTimeout);
    const asked = rejection(`http://${podId}-8888.proxy.localhost/`);
    const { stream } = await link.open();
    expect(await asked).toEqual([524, "worker_too_slow"]);
    expect(await link.next(FRAME.RESET)).toMatchObject({ stream });
  });

  test("is 429 while 1,000 others are open, until one of them ends", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const call = { head: headOf(), body: null, affinity: null, port: 8888, receivedAt: Date.now() };
    const object = podObject(podId);
    const others = Array.from({ length: 1_000 }, () =>
      object.forward({ ...call, requestId: crypto.randomUUID() }),
    );
    const streams: number[] = [];
    while (streams.length < others.length) streams.push((await link.open()).stream);
    const address = `http://${podId}-8888.proxy.localhost/`;
    const refused = await ask(address);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "1"]);
    link.reset(streams[0] ?? 0, "worker_failed");
    await link.heard();
    const asked = ask(address);
    link.answer((await link.open()).stream, "through");
    expect(await (await asked).text()).toBe("through");
    for (const stream of streams.slice(1)) link.reset(stream, "worker_failed");
    await Promise.all(others);
  });

  test("may be a WebSocket", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const asked = ask(`http://${podId}-8888.proxy.localhost/ws`, { headers: { Upgrade: "websocket" } });
    const { stream, port, head } = await link.open();
    expect([port, head.kind]).toEqual([8888, "websocket"]);
    link.head(stream, { status: 101, statusText: "Switching Protocols", headers: [] });
    const { status, webSocket } = await asked;
    expect(status).toBe(101);
    webSocket?.accept();
    webSocket?.send("ping");
    expect(new TextDecoder().decode((await link.next(FRAME.TEXT)).payload)).toBe("ping");
  });

  test("goes on as a WebSocket when the object of the pod has lost its memory", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const address = `http://${podId}-8888.proxy.localhost/ws`;
    const asked = ask(address, { headers: { Upgrade: "websocket" } });
    const { stream } = await link.open();
    link.head(stream, { status: 101, statusText: "Switching Protocols", headers: [] });
    const { webSocket } = await asked;
    if (!webSocket) throw new Error("no WebSocket");
    const { promise: message, resolve } = Promise.withResolvers<unknown>();
    webSocket.addEventListener("message", ({ data }) => resolve(data));
    webSocket.accept();
    await evictDurableObject(podObject(podId));
    webSocket.send("after");
    expect(text((await link.next(FRAME.TEXT)).payload)).toBe("after");
    link.send({ type: FRAME.TEXT, stream, flags: FLAG_FIN, payload: "answer" });
    expect(await message).toBe("answer");
    await link.next(FRAME.CREDIT);
    const other = ask(address);
    link.answer((await link.open()).stream, "beside it");
    expect(await (await other).text()).toBe("beside it");
    webSocket.close(1000, "bye");
    expect(await link.next(FRAME.CLOSE)).toMatchObject({ stream });
  });
});

describe("the link of a pod", () => {
  test("is accepted of the host alone that runs it", async ({ expect }) => {
    const { podId, link } = await runningPod();
    const other = await PodAgent.join(new EdgeClient(send.key));
    await expect(other.agent.openLink(podId, "pods")).rejects.toThrow("409");
    const stranger = await PodAgent.join(await EdgeClient.ofNewAccount());
    await expect(stranger.agent.openLink(podId, "pods")).rejects.toThrow("409");
    const asked = ask(`http://${podId}-8888.proxy.localhost/`);
    link.answer((await link.open()).stream, "of the first");
    expect(await (await asked).text()).toBe("of the first");
  });
});
