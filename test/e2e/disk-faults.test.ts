/** The disk of an agent is full for a while: jobs wait, run again or fail, and each says what is so. */
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  diskFailures,
  type DiskScene,
  openDiskScene,
  untilDiskIsQuiet,
} from "../../bench/faults/disk-faults.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";
import { canBreakHosts } from "../support/rig/rig-machine.ts";

const completed = { status: "COMPLETED", output: "done" };

describe.runIf(await canBreakHosts())("a host whose agent has a disk of its own", () => {
  let rig: FleetRig;
  let scene: DiskScene;
  beforeAll(async () => {
    rig = await FleetRig.open(layOutBundle);
    scene = await openDiskScene(rig);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test("a job whose result the host could not keep runs again when there is room", async ({ expect }) => {
    const record = await diskFailures["agent's disk full until the job is given up"](scene);
    expect(record.results).toMatchObject([completed, completed]);
    expect(record.counted).toEqual({ completed: 2, failed: 0, retried: 1 });
    await untilDiskIsQuiet(scene);
  });

  test("a worker that could not be recorded is shown with its jobs, and starts when there is space", async ({
    expect,
  }) => {
    const record = await diskFailures["agent's disk full before its worker starts"](scene);
    expect(record.results).toMatchObject([completed]);
    expect(record.seen).toContain("IN_QUEUE: worker_crash_looping");
    expect(record.details.join()).toContain("disk is full");
    await untilDiskIsQuiet(scene);
  });
});
