/** Faults of hosts and of the edge, with workers that are plain processes. */
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Gate } from "../../test/support/gate.ts";
import { processesIn } from "../../test/support/leftovers.ts";
import { createEndpoint } from "../../test/support/management-client.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import type { RigHost } from "../../test/support/rig/rig-host.ts";
import { type FailureRecord, type Moments, observe } from "./observation.ts";

const WORKER = resolve(import.meta.dirname, "../../test/support/worker-script.mjs");
const JOB = { mock_delay: 2, mock_return: "done" };
/** Shorter than the silence after which a host is lost, and longer. */
const NAP_MS = 5_000;
const LOOK_AGAIN_MS = 100;
/** A job that is still running when its host comes back. */
const LONG_JOB = { mock_delay: 25, mock_return: "done" };

export type Scene = { readonly rig: FleetRig; readonly hosts: readonly [RigHost, RigHost] };

/** A fleet of two hosts with cables of their own, each with two GPUs. */
export async function openScene(rig: FleetRig): Promise<Scene> {
  const settings = { gpus: "2x RTX 4090", hasLink: true } as const;
  return {
    rig,
    hosts: [
      await rig.addHost({ name: "first", ...settings }),
      await rig.addHost({ name: "second", ...settings }),
    ],
  };
}

/** What breaks, and how it is seen; each leaves both hosts as they were. */
export const hostFailures = {
  "agent killed and started again": (scene: Scene) => {
    // A result that comes while there is no agent is lost.
    const gate = new Gate(scene.rig.directory);
    return observeTwo(scene, { mock_until: gate.file, mock_return: "done" }, async ([first]) => {
      const since = first.log.length;
      await first.killAgent();
      await first.startAgent();
      await first.logged("connected ", since);
      gate.open();
    });
  },
  "edge killed": (scene: Scene) =>
    observeTwo(scene, JOB, async () => {
      process.kill(scene.rig.edgePid, "SIGKILL");
    }),
  "host unplugged for good": (scene: Scene) =>
    observeTwo(scene, JOB, async ([first], { ended }) => {
      await first.link.unplug();
      await ended;
      await first.link.plugIn();
    }),
  "host silent for 5 s": (scene: Scene) =>
    observeTwo(scene, JOB, async ([first]) => {
      first.freeze();
      await delay(NAP_MS);
      first.thaw();
    }),
  "host lost, and back while its jobs run elsewhere": (scene: Scene) =>
    observeTwo(scene, LONG_JOB, async ([first], { requeued }) => {
      await first.link.unplug();
      await requeued;
      await first.link.plugIn();
    }),
} satisfies Record<string, (scene: Scene) => Promise<FailureRecord>>;

/** Each host has a worker with a job when it breaks. */
async function observeTwo(
  { rig, hosts }: Scene,
  input: unknown,
  failure: (hosts: Scene["hosts"], moments: Moments) => Promise<void>,
): Promise<FailureRecord> {
  const endpointId = await createEndpoint(rig, {
    name: `fault-${randomUUID()}`,
    dockerArgs: `node ${WORKER}`,
    workersMax: 2,
    idleTimeout: 1,
    scalerType: "REQUEST_COUNT",
    scalerValue: 1,
  });
  const client = rig.clientOf(endpointId);
  const inputs = [input, input];
  const since = hosts.map(({ log }) => log.length);
  return observe(client, {
    inputs,
    underWay: 2,
    failure: async (moments) => {
      // The edge calls a job running from the moment when it is on its way.
      await Promise.all(hosts.map((host, index) => host.logged("job_delivered", since[index])));
      await failure(hosts, moments);
    },
  });
}

export async function untilQuiet({ rig, hosts }: Scene): Promise<number> {
  return untilNothingIsLeft(rig, hosts);
}

/** Waits until the hosts are there and have nothing left of their workers; tells how many ms that took. */
export async function untilNothingIsLeft(rig: FleetRig, hosts: readonly RigHost[]): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const shown = [...(await rig.hosts()).values()];
    const isQuiet = shown.every(({ isPresent, workers }) => isPresent && workers === 0);
    if (isQuiet && hosts.every((host) => leftoversOf(host).length === 0)) break;
    await delay(LOOK_AGAIN_MS);
  }
  return Math.round(performance.now() - startedAt);
}

/** Directories and processes of workers. */
function leftoversOf({ stateDirectory }: RigHost): readonly string[] {
  const workers = join(stateDirectory, "workers");
  const directories = existsSync(workers) ? readdirSync(workers) : [];
  return [...directories, ...processesIn(workers).map((pid) => `process ${pid}`)];
}
