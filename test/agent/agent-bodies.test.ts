/** What a worker can do to its agent with the bodies that it sends. */
import { WORKER_REQUESTS_MAX } from "../../node-agent/worker-server/worker-server.ts";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { AgentProcess, processesNaming } from "../support/agent-process.ts";
import { RawWorker } from "../support/raw-worker.ts";

const BODY_BYTES = 20_900_000;
const BODIES = 15;

/** Sends all of a body but its last byte; resolves when the agent has read it, if it does. */
async function sendUnfinished(url: URL): Promise<void> {
  const socket = connect(Number(url.port), url.hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write(
    `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: agent\r\nContent-Length: ${BODY_BYTES + 1}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.write(Buffer.alloc(BODY_BYTES, 120), () => resolve()));
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
}

/** Where the worker of an agent of another process posts its results. */
async function postAddress(stateDir: string): Promise<string> {
  for (const pid of processesNaming(stateDir)) {
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    const address = /RUNPOD_WEBHOOK_POST_OUTPUT=([^\0]*)/.exec(environment)?.[1];
    if (address !== undefined) return address;
  }
  throw new Error("no worker runs");
}

describe("bodies that a worker does not finish", () => {
  test("do not fill the memory of the agent, and do not delay results of other workers", async ({
    expect,
  }) => {
    await using host = await AgentFixture.create(); // ends the workers that the process leaves
    const { edge, stateDir } = host;
    await using agent = AgentProcess.start({ edgeUrl: edge.url, stateDir });
    edge.assign(assignment());
    await edge.worker("worker-1", "ready");
    edge.submit("endpoint-1", { id: "held", input: { mock_never: true } });
    await agent.logged("job_delivered");
    const address = await postAddress(stateDir);
    const before = await residentMegabytes(agent.pid);

    const send = (jobId: string) => sendUnfinished(new URL(address.replace("$ID", jobId)));
    const ofJob = Array.from({ length: BODIES }, () => send("held"));
    const unwanted = Array.from({ length: BODIES }, (_, index) => send(`unknown-${index}`));
    await Promise.race(ofJob);
    await Promise.all(unwanted);
    expect((await residentMegabytes(agent.pid)) - before).toBeLessThan(150);

    edge.assign(assignment(), assignment({ workerId: "worker-2", endpointId: "endpoint-2" }));
    await edge.worker("worker-2", "ready");
    edge.submit("endpoint-2", { id: "other", input: { mock_size: 1_000_000 } });
    expect(await edge.report("other")).toMatchObject({ kind: "completed" });
  });

  test("are ended after a while, and the next one of the same job gets through", async ({ expect }) => {
    await using host = await AgentFixture.start({ bodyLimitMs: 300 });
    const worker = await RawWorker.start(host);
    host.edge.submit("endpoint-1", { id: "job-1", input: {} });
    await worker.takeUntilThere();
    const url = new URL(host.env("worker-1", "RUNPOD_WEBHOOK_POST_OUTPUT").replace("$ID", "job-1"));
    const socket = connect(Number(url.port), url.hostname);
    onTestFinished(() => void socket.destroy());
    socket.write(`POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: agent\r\nContent-Length: 10\r\n\r\n{`);
    const answered = once(socket, "data");

    expect(await worker.done("job-1", '{"output":1}')).toBe(200);
    expect(String(await answered)).toMatch(/^HTTP\/1\.1 408 /);
    expect(await host.edge.report("job-1")).toMatchObject({ kind: "completed", output: 1 });
  });
});

test("a worker has only so many requests open", async ({ expect }) => {
  await using host = await AgentFixture.start({ pollHoldMs: 600_000 });
  const { pathname, port, hostname } = (await RawWorker.start(host)).takeUrl;
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const poll = `GET ${pathname}?job_in_progress=0 HTTP/1.1\r\nHost: agent\r\n\r\n`;
  socket.write(poll.repeat(WORKER_REQUESTS_MAX + 1));
  expect((await host.logged("worker_request_refused")).fields).toMatchObject({ status: 429 });
});
