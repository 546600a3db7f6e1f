/** Why a job waits: each of the nine reasons in the situation that it names, with the real Fleet. */
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import type { SyncRequest, WorkerState } from "../../src/contract/agent.ts";
import { QUEUE_REASONS } from "../../src/contract/job.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { limitStorage } from "./object.ts";

const api = new EdgeClient();
const { call, createEndpoint, graphql, signInAsNewAccount } = api;

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());
afterEach(() => limitStorage(undefined));

type Queue = { position: number; reason: string; detail: string };

async function submit(endpointId: string, policy: object = {}): Promise<string> {
  return String((await call("POST", `/v2/${endpointId}/run`, { input: 1, policy })).body["id"]);
}

/** What the job says of its wait, once it says this reason: objects tell each other in the background. */
async function waitsFor(endpointId: string, jobId: string, reason: string, detail = ""): Promise<Queue> {
  for (;;) {
    const { body } = await call("GET", `/v2/${endpointId}/status/${jobId}`);
    const queue = body["queue"] as Queue;
    if (queue.reason === reason && queue.detail.includes(detail)) return queue;
    await scheduler.wait(5);
  }
}

const gpusOf = (...tiers: string[]): SyncRequest["inventory"] => ({
  ...INVENTORY,
  gpus: tiers.map((tier, index) => ({ index, name: tier, tier, memoryMb: 1, isSimulated: true })),
});

/** A host whose workers are in the states given, in the order of their assignment. */
async function hostWith(
  endpointId: string,
  states: readonly (readonly [WorkerState, string?])[],
  inventory: SyncRequest["inventory"] = INVENTORY,
) {
  const agent = await ScriptedAgent.join(api);
  let reply = await agent.sync({ inventory });
  while (reply.assignments.length < states.length) reply = await agent.sync({ inventory });
  const ids = reply.assignments.map(({ workerId }) => workerId);
  const workers = states.map(([state, detail], index) => ({
    workerId: ids[index] ?? "",
    endpointId,
    revision: 1,
    state,
    ...(detail !== undefined && { detail }),
  }));
  await agent.sync({ inventory, appliedRevision: reply.revision, workers });
  return { agent, ids };
}

/** One test for each; a reason without one is noticed. */
const tests: Record<string, [situation: string, run: () => Promise<{ queue: Queue; detail: RegExp }>][]> = {
  workers_max_is_zero: [
    [
      "no worker is allowed",
      async () => {
        const endpointId = await createEndpoint("workersMax: 0");
        const queue = await waitsFor(endpointId, await submit(endpointId), "workers_max_is_zero");
        return { queue, detail: /workersMax is 0\. Raise it/ };
      },
    ],
    [
      "it is set to 0 while the job waits",
      async () => {
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        await graphql(
          `mutation { saveEndpoint(input: { id: "${endpointId}", name: "x", gpuIds: "AMPERE_16", workersMax: 0 }) { id } }`,
        );
        return { queue: await waitsFor(endpointId, jobId, "workers_max_is_zero"), detail: /Raise it/ };
      },
    ],
  ],
  no_host: [
    [
      "no host of the account is there, though one of another account is",
      async () => {
        await (await ScriptedAgent.join(api)).sync();
        await signInAsNewAccount();
        const endpointId = await createEndpoint();
        const queue = await waitsFor(endpointId, await submit(endpointId), "no_host");
        return { queue, detail: /No host of this account is connected\. Join one/ };
      },
    ],
  ],
  no_matching_gpu: [
    [
      "hosts have GPUs of other tiers only",
      async () => {
        const endpointId = await createEndpoint();
        await (await ScriptedAgent.join(api)).sync({ inventory: gpusOf("ADA_24") });
        const queue = await waitsFor(endpointId, await submit(endpointId), "no_matching_gpu");
        return { queue, detail: /asks for AMPERE_16, and the connected host can give ADA_24\. Add a tier/ };
      },
    ],
    [
      "other workers have all GPUs",
      async () => {
        const first = await createEndpoint("workersMin: 1");
        await hostWith(first, [["ready"]], gpusOf("AMPERE_16"));
        const endpointId = await createEndpoint();
        const queue = await waitsFor(endpointId, await submit(endpointId), "no_matching_gpu");
        return { queue, detail: /has AMPERE_16, but the only GPU is taken\. Wait for/ };
      },
    ],
    [
      "one worker is busy, and there is no GPU for a second one",
      async () => {
        const endpointId = await createEndpoint("workersMin: 2, workersMax: 2");
        const { agent, ids } = await hostWith(endpointId, [["ready"]], gpusOf("AMPERE_16"));
        await submit(endpointId);
        await agent.take(endpointId, ids[0] ?? "");
        const queue = await waitsFor(endpointId, await submit(endpointId), "no_matching_gpu");
        return { queue, detail: /but the only GPU is taken/ };
      },
    ],
  ],
  image_pulling: [
    [
      "the image comes, layer by layer",
      async () => {
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        await hostWith(endpointId, [["pulling", "pulling image test:1: 2 of 5 layers"]]);
        const queue = await waitsFor(endpointId, jobId, "image_pulling");
        return { queue, detail: /^pulling image test:1: 2 of 5 layers$/ };
      },
    ],
    [
      "one worker is busy, and another one pulls",
      async () => {
        const endpointId = await createEndpoint("workersMin: 2, workersMax: 2");
        const { agent, ids } = await hostWith(endpointId, [["ready"], ["pulling", "1 of 2 layers"]]);
        await submit(endpointId);
        await agent.take(endpointId, ids[0] ?? "");
        const queue = await waitsFor(endpointId, await submit(endpointId), "image_pulling");
        return { queue, detail: /^1 of 2 layers$/ };
      },
    ],
  ],
  worker_starting: [
    [
      "the worker has not asked for a job yet",
      async () => {
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        await hostWith(endpointId, [["starting"]]);
        const queue = await waitsFor(endpointId, jobId, "worker_starting", "A worker is starting");
        return { queue, detail: /the job runs when it has asked for one/ };
      },
    ],
  ],
  worker_crash_looping: [
    [
      "the container keeps exiting",
      async () => {
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        const words = "exited with code 1: ModuleNotFoundError: torch; starts again in 8 s";
        await hostWith(endpointId, [["crash_looping", words]]);
        const queue = await waitsFor(endpointId, jobId, "worker_crash_looping");
        return { queue, detail: /ModuleNotFoundError: torch/ };
      },
    ],
    [
      "the worker says that it is unhealthy",
      async () => {
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        await hostWith(endpointId, [["unhealthy", "reported itself unhealthy: gpu: no CUDA device"]]);
        const queue = await waitsFor(endpointId, jobId, "worker_crash_looping");
        return { queue, detail: /no CUDA device/ };
      },
    ],
  ],
  storage_full: [
    [
      "what jobs left behind takes too much",
      async () => {
        limitStorage("0.0001"); // not enough for the result of one job
        const endpointId = await createEndpoint();
        const jobId = await submit(endpointId);
        await hostWith(endpointId, [["ready"]]);
        const queue = await waitsFor(endpointId, jobId, "storage_full");
        return { queue, detail: /take all the storage that they may/ };
      },
    ],
  ],
  at_max_workers: [
    [
      "all workers that may be are busy",
      async () => {
        const endpointId = await createEndpoint("workersMax: 1");
        await submit(endpointId);
        const { agent, ids } = await hostWith(endpointId, [["ready"]]);
        await agent.take(endpointId, ids[0] ?? "");
        const queue = await waitsFor(endpointId, await submit(endpointId), "at_max_workers");
        return { queue, detail: /busy with jobs ahead of this one\. That is workersMax \(1\); raise it/ };
      },
    ],
  ],
  low_priority_waiting: [
    [
      "no worker is up, and the job does not start one",
      async () => {
        const endpointId = await createEndpoint();
        await (await ScriptedAgent.join(api)).sync();
        const jobId = await submit(endpointId, { lowPriority: true });
        const queue = await waitsFor(endpointId, jobId, "low_priority_waiting");
        return { queue, detail: /a low-priority job does not start one/ };
      },
    ],
    [
      "workers are busy with normal jobs",
      async () => {
        const endpointId = await createEndpoint("workersMax: 1");
        await submit(endpointId);
        const { agent, ids } = await hostWith(endpointId, [["ready"]]);
        await agent.take(endpointId, ids[0] ?? "");
        const jobId = await submit(endpointId, { lowPriority: true });
        const queue = await waitsFor(endpointId, jobId, "low_priority_waiting");
        return { queue, detail: /Normal jobs go first/ };
      },
    ],
  ],
};

test("there is a test for each reason", ({ expect }) => {
  expect(Object.keys(tests).toSorted()).toEqual([...QUEUE_REASONS].toSorted());
});

describe.for(Object.entries(tests))("%s", ([reason, situations]) => {
  test.for(situations)("when %s", async ([, run], { expect }) => {
    const { queue, detail } = await run();
    expect(queue).toEqual({ position: 1, reason, detail: expect.stringMatching(detail) });
  });
});
