/** Limits of requests per window, of requests in progress and of the queue, as clients meet them. */
import { runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { HealthBody } from "../../src/contract/job.ts";
import { RATE_LIMITS, RATE_WINDOW_MS } from "../../src/contract/rate-limits.ts";
import type { EndpointObject } from "../../src/endpoint/endpoint-object.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { configure, endpointObject, evict, passTime } from "./object.ts";
import { holding } from "./message-facts.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, signInAsNewAccount } = api;

/** A window, and the bucket by which counting may be late. */
const WINDOW_PASSED_MS = RATE_WINDOW_MS * 1.01;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

type Reply = Awaited<ReturnType<typeof call>>;

/** Makes so many calls, in crowds that no concurrent limit minds; returns the last reply. */
async function callTimes(count: number, crowd: number, make: () => Promise<Reply>): Promise<Reply> {
  const replies: Reply[] = [];
  while (replies.length < count) {
    const size = Math.min(crowd, count - replies.length);
    replies.push(...(await Promise.all(Array.from({ length: size }, make))));
  }
  const refused = replies.find(({ status }) => status === 429);
  if (refused) throw new Error(JSON.stringify(refused.body));
  return replies.at(-1) as Reply;
}

function limitHeaders({ headers }: Reply) {
  return [headers.get("RateLimit-Policy"), headers.get("RateLimit"), headers.get("Retry-After")];
}

const rowsWritten = async (endpointId: string) => (await endpointObject(endpointId).vitals()).rowsWritten;

async function endpointWithJob() {
  const endpointId = await createEndpoint("workersMax: 0");
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
  return { endpointId, jobId: String(body["id"]) };
}

describe("requests per window", () => {
  test.for([
    ["run", 1_000, 100, "POST", "run"],
    ["cancel", 100, 10, "POST", "cancel/"],
    ["retry", 100, 10, "POST", "retry/"],
    ["purge-queue", 2, 1, "POST", "purge-queue"],
    ["requests", 10, 1, "GET", "requests"],
  ] as const)(
    "%s: %d, then 429 until the window slides",
    async ([name, limit, crowd, method, path], { expect }) => {
      const { endpointId, jobId } = await endpointWithJob();
      passTime(WINDOW_PASSED_MS);
      const target = `/v2/${endpointId}/${path}${path.endsWith("/") ? jobId : ""}`;
      const make = () => call(method, target, method === "POST" ? { input: 1 } : undefined);

      const last = await callTimes(limit, crowd, make);
      const policy = `"${name}";q=${limit};w=10`;
      expect(limitHeaders(last)).toEqual([policy, `"${name}";r=0;t=10`, null]);

      passTime(4_000);
      const before = await rowsWritten(endpointId);
      const refused = await make();
      expect(refused).toMatchObject({
        status: 429,
        body: { code: "rate_limited", title: "Too Many Requests" },
      });
      expect(refused.body).not.toHaveProperty("status");
      const wait = refused.headers.get("Retry-After") ?? "";
      expect(limitHeaders(refused)).toEqual([
        policy,
        `"${name}";r=0;t=${wait}`,
        expect.stringMatching(/^[67]$/),
      ]);
      expect(await rowsWritten(endpointId)).toBe(before);

      passTime(Number(wait) * 1_000);
      expect((await make()).status).not.toBe(429);
    },
  );

  test("requests that are rejected for their content count as well", async ({ expect }) => {
    const { endpointId } = await endpointWithJob();
    passTime(WINDOW_PASSED_MS);
    const post = (body: unknown) => call("POST", `/v2/${endpointId}/batch`, body);
    const first = await post("{");
    expect([first.status, first.headers.get("RateLimit")]).toEqual([400, `"batch";r=99;t=10`]);
    const good = await post([{ input: 1 }]);
    expect([good.status, good.headers.get("RateLimit")]).toEqual([200, `"batch";r=98;t=10`]);
    const before = await rowsWritten(endpointId);
    await callTimes(98, 20, () => post("{"));
    const refused = await post("{");
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "10"]);
    expect(await rowsWritten(endpointId)).toBe(before);
  });

  test.for([
    ["POST", "runsync?wait=x", { input: 1 }, "runsync", 1_999],
    ["POST", "openai/v1/completions", { stream: 1 }, "openai", 1_999],
    ["POST", "batch", {}, "batch", 99],
    ["GET", "status/x?wait=x", undefined, "status", 1_999],
    ["GET", "requests?limit=x", undefined, "requests", 9],
  ] as const)("%s %s, refused, counts once", async ([method, path, body, name, left], { expect }) => {
    const { endpointId } = await endpointWithJob();
    const refused = await call(method, `/v2/${endpointId}/${path}`, body);
    expect([refused.status, refused.headers.get("RateLimit")]).toEqual([400, `"${name}";r=${left};t=10`]);
  });

  test("runsync and run have separate windows", async ({ expect }) => {
    const { endpointId } = await endpointWithJob();
    const request = {
      isSync: true,
      isLowPriority: false,
      ttlMs: 60_000,
      executionTimeoutMs: null,
      input: { kind: "inline", json: "1" } as const,
      optionsJson: "{}",
      holdMs: 0,
    };
    const stub = endpointObject(endpointId) as unknown as Pick<EndpointObject, "submit">;
    for (let sent = 0; sent < 2_000; sent += 200) {
      await Promise.all(Array.from({ length: 200 }, () => stub.submit(request)));
    }
    const refused = await call("POST", `/v2/${endpointId}/runsync`, { input: 1 });
    expect([refused.status, limitHeaders(refused)[0]]).toEqual([429, `"runsync";q=2000;w=10`]);
    expect((await call("POST", `/v2/${endpointId}/run`, { input: 1 })).status).toBe(200);
  });

  test("status and status-sync share one bucket", async ({ expect }) => {
    const { endpointId, jobId } = await endpointWithJob();
    await call("POST", `/v2/${endpointId}/cancel/${jobId}`);
    await call("GET", `/v2/${endpointId}/status/${jobId}`);
    const reply = await call("POST", `/v2/${endpointId}/status-sync/${jobId}`);
    expect(reply.headers.get("RateLimit")).toMatch(/^"status";r=1998;t=/);
  });

  test("requests spread over the window are admitted again as they leave it", async ({ expect }) => {
    const { endpointId } = await endpointWithJob();
    const purge = () => call("POST", `/v2/${endpointId}/purge-queue`);
    await purge();
    passTime(6_000);
    await purge();
    const refused = await purge();
    expect([refused.status, Number(refused.headers.get("Retry-After"))]).toEqual([
      429,
      expect.closeTo(4, -1),
    ]);
    passTime(4_100);
    expect((await purge()).status).toBe(200);
    expect((await purge()).status).toBe(429);
  });

  test("each endpoint has separate windows, and its first call counts once", async ({ expect }) => {
    const [one, other] = await Promise.all([endpointWithJob(), endpointWithJob()]);
    await callTimes(2, 1, () => call("POST", `/v2/${one.endpointId}/purge-queue`));
    expect((await call("POST", `/v2/${one.endpointId}/purge-queue`)).status).toBe(429);
    const reply = await call("POST", `/v2/${other.endpointId}/purge-queue`);
    expect([reply.status, reply.headers.get("RateLimit")]).toEqual([200, expect.stringContaining("r=1;")]);
  });

  test("an input in R2 is deleted when its job is rejected", async ({ expect }) => {
    const { endpointId } = await endpointWithJob();
    await configure(endpointId, { queueDepthMax: 1 });
    const { env } = await import("cloudflare:workers");
    const input = "x".repeat(300_000);
    expect((await call("POST", `/v2/${endpointId}/run`, { input })).status).toBe(429);
    await vi.waitUntil(async () => {
      const { objects } = await env.PAYLOADS.list({ prefix: `jobs/${endpointId}/` });
      return objects.length === 0;
    });
  });
});

describe("the limits grow with the workers", () => {
  test("six running workers allow 120 cancels, pulling ones none", async ({ expect }) => {
    const endpointId = await createEndpoint("workersMin: 6, workersMax: 6");
    const cancel = () => call("POST", `/v2/${endpointId}/cancel/none`);
    const policy = async () => (await cancel()).headers.get("RateLimit-Policy");

    for (let host = 0; host < 2; host += 1) await bringUpTwo(endpointId, "ready");
    const third = await bringUpTwo(endpointId, "pulling");
    await vi.waitUntil(async () => (await workersOf(endpointId)).initializing === 2);
    expect(await policy()).toBe(`"cancel";q=100;w=10`);

    await bringUpTwo(endpointId, "ready", third);
    await vi.waitUntil(async () => (await workersOf(endpointId)).ready === 6);
    expect(await policy()).toBe(`"cancel";q=120;w=10`);
    await callTimes(118, 10, cancel);
    expect((await cancel()).status).toBe(429);
    await evict(endpointId);
    expect(await policy()).toBe(`"cancel";q=120;w=10`);
  });
});

/** Lets two workers of the endpoint on a host, by default a new one, reach this state; returns the host's agent. */
async function bringUpTwo(
  endpointId: string,
  state: "ready" | "pulling",
  agent?: ScriptedAgent,
): Promise<ScriptedAgent> {
  const host = agent ?? (await ScriptedAgent.join(api));
  const reply = await until(async () => {
    const answer = await host.sync();
    return answer.assignments.length < 2 ? notYet(answer.assignments) : answer;
  }, "the host has two workers");
  const workers = reply.assignments.map(({ workerId, revision }) => ({
    workerId,
    endpointId,
    revision,
    state,
  }));
  await host.sync({ appliedRevision: reply.revision, workers });
  return host;
}

async function workersOf(endpointId: string) {
  const { body } = await call("GET", `/v2/${endpointId}/health`);
  return body["workers"] as { ready: number; initializing: number };
}

// The clock stands still here as above, so a crowd may take its time: no window slides, no handover is given up.
describe("requests in progress", () => {
  const full = RATE_LIMITS.status.concurrent ?? 0;

  /** A job in progress, as many waits for it as may be, and a look that finds no slot. */
  async function crowdedEndpoint() {
    const endpointId = await createEndpoint();
    const agent = await ScriptedAgent.join(api);
    await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const workerId = await agent.bringUpWorker(endpointId);
    const job = await agent.take(endpointId, workerId);
    const path = `/v2/${endpointId}/status/${job.id}`;
    const clients = Array.from({ length: full }, () => new WaitingClient(`${path}?wait=60000`));
    const look = () => call("GET", path);
    return { endpointId, agent, job, clients, look };
  }

  /** Resolves once so many wait on wake-up channels; looks what happens on the way there. */
  async function untilOnChannels(
    endpointId: string,
    count: number,
    watch?: () => Promise<void>,
  ): Promise<void> {
    await until(async () => {
      const channels = await channelCount(endpointId);
      if (channels === count) return true;
      await watch?.();
      return notYet(channels);
    }, `${count} wait on wake-up channels`);
  }

  test("waits count wherever they wait; a client that hangs up frees its slot", async ({ expect }) => {
    const { endpointId, agent, job, clients, look } = await crowdedEndpoint();
    await until(async () => (await look()).status === 429, "all slots are taken");
    const refused = await look();
    expect(limitHeaders(refused)).toEqual([
      `"status-concurrent";q=400;qu="concurrent-requests"`,
      `"status-concurrent";r=0`,
      "1",
    ]);
    const expectFull = async () => expect((await look()).status).toBe(429);
    await untilOnChannels(endpointId, full, expectFull);
    await expectFull();

    await evict(endpointId);
    await expectFull();

    // All look again, find the job still in progress and wait again.
    const channels = await channelCount(endpointId);
    await call("POST", `/v2/${endpointId}/purge-queue`);
    expect(channels).toBe(full);
    await expectFull();
    await untilOnChannels(endpointId, full, expectFull);
    await expectFull();

    for (const client of clients.splice(0, 3)) client.disconnect();
    await until(async () => (await look()).status === 200, "a slot is free");
    const path = `/v2/${endpointId}/status/${job.id}?wait=60000`;
    clients.push(...Array.from({ length: 3 }, () => new WaitingClient(path)));
    await untilOnChannels(endpointId, full);
    await expectFull();

    await agent.complete(endpointId, job, "done");
    const replies = await Promise.all(clients.map((client) => client.reply));
    expect(new Set(replies.map(({ status, body }) => `${status} ${String(body["output"])}`))).toEqual(
      new Set(["200 done"]),
    );
    const after = await look();
    expect(after.status).toBe(200);
  });

  test("waits that end free their slots, and a wait is one request however often it polls", async ({
    expect,
  }) => {
    const { endpointId, jobId } = await endpointWithJob();
    const path = `/v2/${endpointId}/status/${jobId}`;
    const waits = Array.from({ length: 20 }, () => call("GET", `${path}?wait=1000`));
    await untilAdmitted(endpointId, 20);
    expect((await usageOf(endpointId)).status).toEqual({ requests: 20, concurrent: 20 });
    passTime(1_000);
    await Promise.all(waits);
    expect((await usageOf(endpointId)).status).toEqual({ requests: 20, concurrent: 0 });
  });

  test("runsync takes its own slots, not those of status", async ({ expect }) => {
    const { endpointId, jobId } = await endpointWithJob();
    const replies = Array.from({ length: 20 }, () =>
      call("POST", `/v2/${endpointId}/runsync?wait=60000`, { input: 1 }),
    );
    await untilOnChannels(endpointId, 20);
    const status = await call("GET", `/v2/${endpointId}/status/${jobId}`);
    expect(status.headers.get("RateLimit")).toMatch(/^"status";r=1999;/);
    expect(await usageOf(endpointId)).toMatchObject({
      runsync: { requests: 20, concurrent: 20 },
      status: { requests: 1, concurrent: 0 },
    });
    await call("POST", `/v2/${endpointId}/purge-queue`);
    const statuses = (await Promise.all(replies)).map((reply) => reply.status);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

/** Resolves once so many calls of status count in the window. */
async function untilAdmitted(endpointId: string, count: number): Promise<void> {
  await until(async () => {
    const { requests } = (await usageOf(endpointId)).status;
    return requests === count || notYet(requests);
  }, `${count} calls of status count`);
}

async function usageOf(endpointId: string): Promise<HealthBody["usage"]["operations"]> {
  const { body } = await call("GET", `/v2/${endpointId}/health`);
  return (body["usage"] as HealthBody["usage"]).operations;
}

/** Number of wake-up channels of clients on the object. */
async function channelCount(endpointId: string): Promise<number> {
  return runInDurableObject(
    endpointObject(endpointId),
    (_, state) => state.getWebSockets("job").filter((socket) => socket.readyState === WebSocket.OPEN).length,
  );
}

class WaitingClient {
  readonly #controller = new AbortController();
  readonly reply: Promise<{ status: number; body: Record<string, unknown> }>;

  constructor(path: string) {
    this.reply = this.#ask(path);
    void this.reply.catch(() => undefined); // it may have hung up
  }

  disconnect(): void {
    this.#controller.abort();
  }

  async #ask(path: string) {
    const response = await exports.default.fetch(`http://edge${path}`, {
      headers: { Authorization: `Bearer ${api.key}` },
      signal: this.#controller.signal,
    });
    return { status: response.status, body: await response.json<Record<string, unknown>>() };
  }
}

describe("a full queue", () => {
  test("takes no job until another has left", async ({ expect }) => {
    const { endpointId, jobId } = await endpointWithJob();
    await configure(endpointId, { queueDepthMax: 2 });
    const run = () => call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const crowd = await Promise.all([run(), run(), run()]);
    expect(crowd.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(crowd.filter(({ status }) => status === 429)).toHaveLength(2);

    const before = await rowsWritten(endpointId);
    for (const operation of ["run", "runsync"]) {
      const refused = await call("POST", `/v2/${endpointId}/${operation}`, { input: 1 });
      expect(refused).toMatchObject({ status: 429, body: { code: "rate_limited" } });
      expect(refused.body["error"]).toMatch(holding(2));
      expect(limitHeaders(refused)).toEqual([`"queue";q=2;qu="queued-jobs"`, `"queue";r=0`, "10"]);
    }
    expect(await rowsWritten(endpointId)).toBe(before);

    await call("POST", `/v2/${endpointId}/cancel/${jobId}`);
    expect((await run()).status).toBe(200);
  });
});
