/** Why a job waits: each of the reasons in the situation that it names, with the real Fleet. */
import { afterEach, describe } from "vitest";
import type { WorkerState } from "../../src/contract/agent/agent.ts";
import { QUEUE_REASONS, type QueueReason } from "../../src/contract/job.ts";
import { EdgeClient } from "./edge-client.ts";
import { limitStorage } from "./object.ts";
import { FleetHarness, test, type TestEndpoint, type TestHost } from "./support/fleet-harness.ts";

afterEach(() => limitStorage(undefined));

/** A host whose workers are in the states given, in the order of their assignment. */
async function hostWith(
  fleet: FleetHarness,
  states: readonly (readonly [state: WorkerState, detail?: string | undefined])[],
  gpus?: readonly string[],
): Promise<{ readonly host: TestHost; readonly ids: readonly string[] }> {
  const host = await fleet.host({ state: "starting", ...(gpus && { gpus }) });
  const ids = await host.untilVersions(...states.map(() => 1));
  for (const [index, [state, detail]] of states.entries()) host.set(ids[index] ?? "", state, detail);
  await host.sync();
  return { host, ids };
}

/** A first job keeps the first worker of the endpoint busy, so that the next one waits. */
async function occupy(
  fleet: FleetHarness,
  endpoint: TestEndpoint,
  ...host: [states: Parameters<typeof hostWith>[1], gpus?: readonly string[]]
): Promise<void> {
  await endpoint.submit();
  const { host: busy, ids } = await hostWith(fleet, ...host);
  await busy.agent.take(endpoint.id, ids[0] ?? "");
}

/** A job that waits in the endpoint. */
type Waiting = { readonly endpoint: TestEndpoint; readonly jobId: string };

const waiting = async (endpoint: TestEndpoint, policy: object = {}): Promise<Waiting> => ({
  endpoint,
  jobId: await endpoint.submit(policy),
});

/** The job of an endpoint whose only worker is in the state. */
async function waitingFor(fleet: FleetHarness, state: WorkerState, detail?: string): Promise<Waiting> {
  const job = await waiting(await fleet.endpoint());
  await hostWith(fleet, [[state, detail]]);
  return job;
}

/** One test for each; a reason without one is noticed. */
const situations: Record<
  QueueReason,
  readonly (readonly [situation: string, arrange: (fleet: FleetHarness) => Promise<Waiting>])[]
> = {
  workers_max_is_zero: [
    ["no worker is allowed", async (fleet) => waiting(await fleet.endpoint("workersMax: 0"))],
    [
      "it is set to 0 while the job waits",
      async (fleet) => {
        const job = await waiting(await fleet.endpoint());
        await job.endpoint.save("workersMax: 0");
        return job;
      },
    ],
  ],
  no_host: [
    [
      "no host of the account is there, though one of another account is",
      async (fleet) => {
        await fleet.host();
        return waiting(await new FleetHarness(await EdgeClient.ofNewAccount()).endpoint());
      },
    ],
  ],
  no_matching_gpu: [
    [
      "hosts have GPUs of other tiers only",
      async (fleet) => {
        await fleet.host({ gpus: ["ADA_24"] });
        return waiting(await fleet.endpoint());
      },
    ],
    [
      "other workers have all GPUs",
      async (fleet) => {
        await fleet.endpoint("workersMin: 1");
        await hostWith(fleet, [["ready"]], ["AMPERE_16"]);
        return waiting(await fleet.endpoint());
      },
    ],
    [
      "one worker is busy, and there is no GPU for a second one",
      async (fleet) => {
        const endpoint = await fleet.endpoint("workersMin: 2, workersMax: 2");
        await occupy(fleet, endpoint, [["ready"]], ["AMPERE_16"]);
        return waiting(endpoint);
      },
    ],
  ],
  waiting_for_share: [
    [
      "a worker of another endpoint has the only GPU, and a job",
      async (fleet) => {
        const other = await fleet.endpoint();
        await other.save('name: "other"');
        await occupy(fleet, other, [["ready"]], ["AMPERE_16"]);
        return waiting(await fleet.endpoint());
      },
    ],
  ],
  budget_reached: [
    [
      "the budget of its endpoint is spent",
      async (fleet) => {
        const endpoint = await fleet.endpoint();
        await hostWith(fleet, []);
        const input = `{ endpointId: "${endpoint.id}", limit: 0 }`;
        await fleet.api.graphql(`mutation { budgetSave(input: ${input}) { state } }`);
        return waiting(endpoint);
      },
    ],
    [
      "the budget of the account is spent, and a worker is free",
      async (fleet) => {
        const endpoint = await fleet.endpoint("workersMin: 1");
        await hostWith(fleet, [["ready"]]);
        await fleet.api.graphql("mutation { budgetSave(input: { limit: 0 }) { state } }");
        return waiting(endpoint);
      },
    ],
  ],
  image_pulling: [
    [
      "the image comes, layer by layer",
      (fleet) => waitingFor(fleet, "pulling", "pulling image test:1: 2 of 5 layers"),
    ],
    [
      "one worker is busy, and another one pulls",
      async (fleet) => {
        const endpoint = await fleet.endpoint("workersMin: 2, workersMax: 2");
        await occupy(fleet, endpoint, [["ready"], ["pulling", "1 of 2 layers"]]);
        return waiting(endpoint);
      },
    ],
  ],
  worker_starting: [
    [
      "the worker has not asked for a job yet",
      async (fleet) => {
        const job = await waitingFor(fleet, "starting");
        await job.endpoint.untilWorkers({ initializing: 1 });
        return job;
      },
    ],
  ],
  worker_crash_looping: [
    [
      "the container keeps exiting",
      (fleet) =>
        waitingFor(
          fleet,
          "crash_looping",
          "exited with code 1: ModuleNotFoundError: torch; starts again in 8 s",
        ),
    ],
    [
      "the worker says that it is unhealthy",
      (fleet) => waitingFor(fleet, "unhealthy", "reported itself unhealthy: gpu: no CUDA device"),
    ],
  ],
  storage_full: [
    [
      "what jobs left behind takes too much",
      (fleet) => {
        limitStorage("0.0001"); // not enough for the result of one job
        return waitingFor(fleet, "ready");
      },
    ],
  ],
  at_max_workers: [
    [
      "all workers that may be are busy",
      async (fleet) => {
        const endpoint = await fleet.endpoint("workersMax: 1");
        await occupy(fleet, endpoint, [["ready"]]);
        return waiting(endpoint);
      },
    ],
  ],
  low_priority_waiting: [
    [
      "no worker is up, and the job does not start one",
      async (fleet) => {
        const endpoint = await fleet.endpoint();
        await fleet.host();
        return waiting(endpoint, { lowPriority: true });
      },
    ],
    [
      "workers are busy with normal jobs",
      async (fleet) => {
        const endpoint = await fleet.endpoint("workersMax: 1");
        await occupy(fleet, endpoint, [["ready"]]);
        return waiting(endpoint, { lowPriority: true });
      },
    ],
  ],
};

test("each reason has a test", ({ expect }) => {
  expect(Object.keys(situations).toSorted()).toEqual([...QUEUE_REASONS].toSorted());
});

describe.for(Object.entries(situations))("%s", ([reason, ofReason]) => {
  test.for(ofReason)("when %s", async ([, arrange], { expect, fleet }) => {
    const { endpoint, jobId } = await arrange(fleet);
    const { position, detail } = await endpoint.untilWaits(jobId, reason as QueueReason);
    expect(position).toBe(1);
    expect(detail).toMatchSnapshot();
  });
});
