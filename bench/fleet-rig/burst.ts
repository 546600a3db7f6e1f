/** A burst of jobs on an endpoint that has no workers: out over all hosts of a fleet, and back to nothing. */
import { resolve } from "node:path";
import { createEndpoint } from "../../test/support/management-client.ts";
import type { JobView } from "../../src/contract/job.ts";
import type { QueueClient } from "../../test/support/queue-client.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import { placedWorkers, type Sample, Samples } from "./samples.ts";

const WORKER = resolve(import.meta.dirname, "../../test/support/worker-script.mjs");
/** Submits under way at a time. */
const SUBMITS = 25;

/** Three hosts, three tiers, three places: seven GPUs. */
const HOSTS = [
  { name: "desk", gpus: "2x RTX 4090", dataCenterId: "EU-RO-1" },
  { name: "rack", gpus: "4x L4", dataCenterId: "EU-FR-1" },
  { name: "lab", gpus: "1x A100 80GB", dataCenterId: "US-KS-2" },
] as const;
const GPUS = 7;

export type BurstSettings = {
  readonly jobs: number;
  /** What the handler of each job does: it waits. */
  readonly jobSeconds: number;
  readonly idleTimeoutSeconds: number;
  readonly scaler: { readonly scalerType: "QUEUE_DELAY" | "REQUEST_COUNT"; readonly scalerValue: number };
  readonly sampleEveryMs: number;
};

/** Milliseconds from the first submit, except for the sums. */
export type BurstFigures = {
  readonly submittedMs: number;
  readonly firstWorkerMs: number;
  readonly allWorkersMs: number;
  readonly drainedMs: number;
  readonly zeroMs: number;
  /** Seconds of all workers, from their placement to their end. */
  readonly workerSecondsUsed: number;
  /** Seconds of all jobs, from taken to result. */
  readonly workerSecondsNeeded: number;
};

export type Burst = {
  readonly samples: readonly Sample[];
  readonly results: readonly JobView[];
  readonly figures: BurstFigures;
};

/** Adds the hosts to an empty fleet, and sends the burst. */
export async function runBurst(rig: FleetRig, settings: BurstSettings): Promise<Burst> {
  for (const host of HOSTS) await rig.addHost(host);
  const client = await clientOf(rig, settings);
  const samples = new Samples(rig, client);
  const inputs = Array.from({ length: settings.jobs }, (_, index) => index);
  const submitting = submitAll(client, inputs, settings.jobSeconds);
  const isEmpty = (sample: Sample) => sample.completed === settings.jobs && placedWorkers(sample) === 0;
  const sampling = samples.takeUntil(isEmpty, settings.sampleEveryMs);
  const { ids, tookMs } = await submitting;
  const results = await Promise.all(ids.map((id) => client.result(id)));
  await sampling;
  return { samples: samples.taken, results, figures: figuresOf(samples.taken, results, tookMs) };
}

async function clientOf(rig: FleetRig, settings: BurstSettings): Promise<QueueClient> {
  const endpointId = await createEndpoint(rig, {
    name: "burst",
    dockerArgs: `node ${WORKER}`,
    gpuIds: "ADA_24,AMPERE_24,AMPERE_80",
    locations: HOSTS.map(({ dataCenterId }) => dataCenterId).join(","),
    workersMax: GPUS,
    idleTimeout: settings.idleTimeoutSeconds,
    ...settings.scaler,
  });
  return rig.clientOf(endpointId);
}

async function submitAll(client: QueueClient, inputs: readonly number[], seconds: number) {
  const startedAt = performance.now();
  const ids: string[] = [];
  const queue = inputs.values();
  const submit = async () => {
    for (const index of queue) {
      ids[index] = (await client.run({ mock_delay: seconds, mock_return: index })).id;
    }
  };
  await Promise.all(Array.from({ length: SUBMITS }, submit));
  return { ids, tookMs: performance.now() - startedAt };
}

function figuresOf(
  samples: readonly Sample[],
  results: readonly JobView[],
  submittedMs: number,
): BurstFigures {
  const first = (isSo: (sample: Sample) => boolean) => samples.find(isSo)?.at ?? Number.NaN;
  const executionMs = results.reduce((sum, { executionTime }) => sum + executionTime, 0);
  return {
    submittedMs: Math.round(submittedMs),
    firstWorkerMs: first(({ workers }) => workers.ready + workers.running > 0),
    allWorkersMs: first(({ workers }) => Math.max(workers.ready, workers.running + workers.idle) === GPUS),
    drainedMs: first(({ completed }) => completed === results.length),
    zeroMs: samples.at(-1)?.at ?? Number.NaN,
    workerSecondsUsed: Math.round(placedMs(samples) / 1_000),
    workerSecondsNeeded: Math.round(executionMs / 1_000),
  };
}

/** Each sample stands for the time up to the next one. */
function placedMs(samples: readonly Sample[]): number {
  return samples.reduce((sum, sample, index) => {
    const until = samples[index + 1]?.at ?? sample.at;
    return sum + placedWorkers(sample) * (until - sample.at);
  }, 0);
}
