/** HTTP ports of pods, from anybody's request through the edge to the link of the host that runs the pod. */
import { exports } from "cloudflare:workers";
import { beforeEach, describe, test } from "vitest";
import type { RequestHead } from "../../src/link/link-messages.ts";
import { FRAME } from "../../src/link/link-frame.ts";
import { EdgeClient } from "./edge-client.ts";
import { ScriptedLink } from "./link-client.ts";
import { POD_CARD, PodAgent } from "./pod-agent.ts";
import { restClient, type RestClient } from "./rest-client.ts";

const PORTS = ["8888/http", "3000/http", "22/tcp"];

let send: RestClient;
let host: PodAgent;

beforeEach(async () => {
  send = await restClient();
  host = await PodAgent.join(new EdgeClient(send.key));
});

async function createPod(): Promise<string> {
  const fields = { imageName: "acme/app:1", gpuTypeIds: [POD_CARD], gpuCount: 1, ports: PORTS };
  const { status, body } = await send("POST", "/pods", fields);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
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
      [`Bearer ${send.key}`, undefined],
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
    await link.heard();
    expect(link.unread).toEqual([]);
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
    const asked = rejection(address);
    link.reset((await link.open()).stream, "worker_failed");
    expect(await asked).toEqual([502, "worker_failed"]);
    const again = ask(address);
    link.answer((await link.open()).stream, "up");
    expect(await (await again).text()).toBe("up");
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
