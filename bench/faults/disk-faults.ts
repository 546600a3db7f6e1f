/** Full disks: that on which an agent keeps what it must remember, and that on which Docker keeps images. */
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createEndpoint } from "../../test/support/management-client.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import type { RigHost } from "../../test/support/rig/rig-host.ts";
import { untilNothingIsLeft } from "./host-faults.ts";
import { type FailureRecord, type FailureSettings, observe } from "./observation.ts";

const WORKER = resolve(import.meta.dirname, "../../test/support/worker-script.mjs");
/** Enough for the disk that each worker is promised. */
const DISK_GB = 8;
const JOB = { mock_delay: 2, mock_return: "done" };
/** Within the time in which a worker sends its result again. */
const MOMENT_MS = 3_500;

export type DiskScene = { readonly rig: FleetRig; readonly host: RigHost };

/** A fleet of one host, whose agent has a disk of its own. */
export async function openDiskScene(rig: FleetRig): Promise<DiskScene> {
  return { rig, host: await rig.addHost({ name: "tight", gpus: "2x RTX 4090", stateDiskGb: DISK_GB }) };
}

export const diskFailures = {
  "agent's disk full for a moment": ({ rig, host: { stateDisk } }: DiskScene) =>
    observeOne(rig, {
      inputs: [JOB],
      underWay: 1,
      failure: async () => {
        await stateDisk.fill();
        await delay(MOMENT_MS);
        await stateDisk.free();
      },
    }),
  "agent's disk full until the job is given up": ({ rig, host: { stateDisk } }: DiskScene) =>
    observeOne(rig, {
      inputs: [JOB, JOB],
      underWay: 1,
      failure: async ({ requeued }) => {
        await stateDisk.fill();
        await requeued;
        await stateDisk.free();
      },
    }),
  "agent's disk full all the time": async ({ rig, host: { stateDisk } }: DiskScene) => {
    try {
      return await observeOne(rig, { inputs: [JOB], underWay: 1, failure: () => stateDisk.fill() });
    } finally {
      await stateDisk.free();
    }
  },
  "agent's disk full before its worker starts": async ({ rig, host }: DiskScene) => {
    await host.stateDisk.fill();
    return observeOne(rig, {
      inputs: [JOB],
      underWay: 0,
      failure: async () => {
        await host.logged("crash_looping", host.log.length);
        await host.stateDisk.free();
      },
    });
  },
} satisfies Record<string, (scene: DiskScene) => Promise<FailureRecord>>;

async function observeOne(rig: FleetRig, settings: FailureSettings): Promise<FailureRecord> {
  const endpointId = await createEndpoint(rig, {
    name: `fault-${randomUUID()}`,
    dockerArgs: `node ${WORKER}`,
    workersMax: 1,
    idleTimeout: 1,
  });
  return observe(rig.clientOf(endpointId), settings);
}

export async function untilDiskIsQuiet({ rig, host }: DiskScene): Promise<number> {
  return untilNothingIsLeft(rig, [host]);
}
