/** Hosts break while they have jobs: none is lost, none completes twice, and nothing stays behind. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { hostFailures, openScene, type Scene, untilQuiet } from "../../bench/faults/host-faults.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";
import { canBreakHosts } from "../support/rig/rig-machine.ts";

const LOST_WITHIN_MS = 15_000;

const completed = { status: "COMPLETED", output: "done" };

describe.runIf(await canBreakHosts())("a fleet of two hosts", () => {
  let rig: FleetRig;
  let scene: Scene;
  beforeAll(async () => {
    rig = await FleetRig.open(layOutBundle);
    scene = await openScene(rig);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test("jobs continue in their workers while the agent is killed and restarted", async ({ expect }) => {
    const record = await hostFailures["agent killed and started again"](scene);
    expect(record.results).toMatchObject([completed, completed]);
    expect(record.counted).toEqual({ completed: 2, failed: 0, retried: 0 });
    await untilQuiet(scene);
  });

  test("jobs continue in their workers while their host is silent for a moment", async ({ expect }) => {
    const record = await hostFailures["host silent for 5 s"](scene);
    expect(record.results).toMatchObject([completed, completed]);
    expect(record.counted).toEqual({ completed: 2, failed: 0, retried: 0 });
    await untilQuiet(scene);
  });

  test("the job of an unplugged host runs on another one, and the host ends its worker when it is back", async ({
    expect,
  }) => {
    const record = await hostFailures["host unplugged for good"](scene);
    console.info(
      `Unplugged with a job of 2 s under way; it waited again after ${record.requeuedMs} ms, and had ended after ${record.endedMs} ms.`,
    );
    expect(record.results).toMatchObject([completed, completed]);
    expect(record.counted).toEqual({ completed: 2, failed: 0, retried: 1 });
    expect(record.seen).toContain("IN_QUEUE: worker_starting");
    await untilQuiet(scene);
    expect(record.requeuedMs).toBeLessThan(LOST_WITHIN_MS);
  });
});
