/** A worker that keeps failing on its host is tried on another one, a few times. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { SyncReply, SyncRequest } from "../../src/contract/agent/agent.ts";
import { ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { passTime } from "./object.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

const MINUTE_MS = 60_000;
type Assigned = SyncReply["assignments"][number];
type Failing = NonNullable<SyncRequest["workers"][number]["failing"]>;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A host of the test, and what it was assigned last. */
class Host {
  readonly agent: ScriptedAgent;
  #appliedRevision = 0;
  assigned: Assigned | undefined;

  constructor(agent: ScriptedAgent) {
    this.agent = agent;
  }

  static async join(name: string): Promise<Host> {
    const host = new Host(await ScriptedAgent.join(api, name));
    await host.sync();
    return host;
  }

  async sync(workers: SyncRequest["workers"] = []): Promise<void> {
    const reply = await this.agent.sync({ workers, appliedRevision: this.#appliedRevision });
    this.#appliedRevision = reply.revision;
    this.assigned = reply.assignments[0];
  }

  async fails({ workerId, endpointId, revision }: Assigned, failing: Failing): Promise<void> {
    const detail = "exited with code 7";
    await this.sync([{ workerId, endpointId, revision, state: "crash_looping", detail, failing }]);
  }
}

/** The host on which the worker is now, of these. */
async function hostWithWorker(hosts: readonly Host[]): Promise<{ host: Host; assigned: Assigned }> {
  return await until(async () => {
    for (const host of hosts) {
      await host.sync(host.assigned ? [{ ...host.assigned, state: "starting" }] : []);
      if (host.assigned) return { host, assigned: host.assigned };
    }
    return undefined;
  }, "one of the hosts has a worker");
}

async function detailOf(endpointId: string, jobId: unknown, part: string): Promise<string> {
  return await until(async () => {
    const { body } = await call("GET", `/v2/${endpointId}/status/${String(jobId)}`);
    const { detail } = body["queue"] as { detail: string };
    return detail.includes(part) ? detail : notYet(detail);
  }, `the job waits for '${part}'`);
}

describe("a worker that keeps failing", () => {
  test("moves to another host, then once more, and then stays; its jobs say so", async ({ expect }) => {
    const hosts = await Promise.all(["a", "b", "c", "d"].map((name) => Host.join(name)));
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
    const { body } = await call("POST", `/v2/${endpointId}/run`, { input: 1 });
    const seen: Host[] = [];
    for (const [times, ago] of [
      [5, MINUTE_MS],
      [9, 10 * MINUTE_MS],
    ] as const) {
      const { host, assigned } = await hostWithWorker(hosts);
      expect(seen).not.toContain(host);
      seen.push(host);
      await host.fails(assigned, { times: 4, ago: MINUTE_MS });
      expect(host.assigned).toMatchObject({ workerId: assigned.workerId });
      await host.fails(assigned, { times, ago });
      expect(host.assigned).toBeUndefined();
      await host.sync();
    }
    const { host, assigned } = await hostWithWorker(hosts);
    expect(seen).not.toContain(host);
    await host.fails(assigned, { times: 50, ago: 60 * MINUTE_MS });
    expect(host.assigned).toMatchObject({ workerId: assigned.workerId });
    expect(await detailOf(endpointId, body["id"], " 2 ")).toMatch(
      /^exited with code 7\..* 2 .*exited with code 7\./,
    );
  });

  test("stays where it is while no other host has room", async ({ expect }) => {
    const host = await Host.join("alone");
    await createEndpoint("workersMin: 1, workersMax: 1");
    const { assigned } = await hostWithWorker([host]);
    await host.fails(assigned, { times: 20, ago: 20 * MINUTE_MS });
    expect(host.assigned).toMatchObject({ workerId: assigned.workerId });

    const other = await Host.join("new");
    passTime(1_000);
    await host.fails(assigned, { times: 21, ago: 21 * MINUTE_MS });
    expect(host.assigned).toBeUndefined();
    expect((await hostWithWorker([other])).assigned.workerId).not.toBe(assigned.workerId);
  });
});

test("the image that a worker runs is shown by its content", async ({ expect }) => {
  const host = await Host.join("a");
  const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
  const { assigned } = await hostWithWorker([host]);
  const { workerId, revision } = assigned;
  await host.sync([{ workerId, endpointId, revision, state: "ready", imageDigest: "sha256:ab" }]);
  const query = `{ myself { endpoint(id: "${endpointId}") { pods { id imageDigest } } } }`;
  expect(await graphql(query)).toEqual({
    myself: { endpoint: { pods: [{ id: workerId, imageDigest: "sha256:ab" }] } },
  });
});
