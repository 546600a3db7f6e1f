/** HTTP ports of a pod on a whole Edgerun: what passes between a client and the server in the pod. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { afterAll, beforeAll, describe, test } from "vitest";
import { WebSocket } from "ws";
import { startAccountHost, type AccountHost } from "../support/account-host.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

const SERVER = fileURLToPath(new URL("../support/pod-server.mjs", import.meta.url));
const UPLOAD_BYTES = 10_000_000;

type Echo = { readonly method: string; readonly url: string; readonly bytes: number; readonly pid: number };

describe("the HTTP port of a pod", () => {
  let account: AccountHost;
  let podId = "";
  let port = 0;

  const rest = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${account.baseUrl}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${account.apiKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === "" ? null : JSON.parse(text);
  };

  const address = (path = "/", of = port): string => `${account.baseUrl}/pods/${podId}/${of}${path}`;
  const echo = async (path = "/"): Promise<Echo> => (await (await fetch(address(path))).json()) as Echo;
  const answering = (): Promise<Echo> =>
    until(async () => ((await fetch(address())).status === 200 ? echo() : null), "the pod answers", 60_000);

  beforeAll(async () => {
    account = await startAccountHost("pod ports", "process");
    port = await freePort();
    const body = {
      name: "server",
      imageName: "none",
      computeType: "CPU",
      vcpuCount: 1,
      ports: [`${port}/http`],
      dockerEntrypoint: [process.execPath],
      dockerStartCmd: [SERVER, `${port}`],
    };
    podId = (await until(() => rest("POST", "/pods", body), "the host has joined", 60_000)).id;
    await answering();
  }, 120_000);
  afterAll(() => account.stop());

  test("answers by path and by host, without a key", async ({ expect }) => {
    expect(await echo("/a%2Fb/?x=1")).toMatchObject({ method: "GET", url: "/a%2Fb/?x=1" });
    const host = `${podId}-${port}.proxy.localhost:${new URL(account.baseUrl).port}`;
    const byHost = await request(`${account.baseUrl}/pods?y`, { headers: { host } });
    expect(await byHost.body.json()).toMatchObject({ url: "/pods?y" });
  });

  test("takes 10 MB", async ({ expect }) => {
    const body = randomBytes(UPLOAD_BYTES);
    const answer = await fetch(address("/upload"), { method: "POST", body });
    const sha256 = createHash("sha256").update(body).digest("hex");
    expect(await answer.json()).toMatchObject({ method: "POST", bytes: UPLOAD_BYTES, sha256 });
  });

  test("passes each event on as it is sent", async ({ expect }) => {
    const { body } = await fetch(address("/events"));
    if (!body) throw new Error("no body");
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe("data: 1\n\n");
    await fetch(address("/go"));
    expect((await reader.read()).value).toBe("data: 2\n\n");
    expect((await reader.read()).done).toBe(true);
  });

  test("carries WebSockets", async ({ expect }) => {
    const socket = new WebSocket(address("/").replace(/^http/, "ws"));
    await once(socket, "open");
    socket.send("text");
    expect(String((await once(socket, "message"))[0])).toBe("text");
    const bytes = randomBytes(300_000);
    socket.send(bytes);
    expect(bytes.equals((await once(socket, "message"))[0] as Buffer)).toBe(true);
    socket.close(4_000, "enough");
    expect((await once(socket, "close"))[0]).toBe(4_000);
  });

  test("is no way to other ports", async ({ expect }) => {
    const { status } = await fetch(address("/", Number(new URL(account.baseUrl).port)));
    expect(status).toBe(404);
  });

  test("answers again after the agent was killed, from the same process", async ({ expect }) => {
    const { pid } = await echo();
    const agent = account.agentPid();
    process.kill(agent, "SIGKILL");
    await until(() => account.agentPid() !== agent, "another agent runs", 30_000);
    expect((await answering()).pid).toBe(pid);
  });

  test("is 503 after the pod was stopped, and answers after it was started", async ({ expect }) => {
    await rest("POST", `/pods/${podId}/stop`);
    const stopped = await until(async () => {
      const { status } = await fetch(address());
      return status === 503 && status;
    }, "the pod has stopped");
    expect(stopped).toBe(503);
    await rest("POST", `/pods/${podId}/start`);
    expect((await answering()).method).toBe("GET");
  });
});
