/** Docker and containers break while jobs run, on a host with a Docker daemon of its own. */
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  dockerFaults,
  type DockerScene,
  openDockerScene,
  untilDockerIsQuiet,
} from "../../bench/faults/docker-faults.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";
import { canBreakHosts } from "../support/rig/rig-machine.ts";

describe.runIf((await isDockerAvailable()) && (await canBreakHosts()))("a host with Docker", () => {
  let rig: FleetRig;
  let scene: DockerScene;
  beforeAll(async () => {
    rig = await FleetRig.open(layOutBundle);
    scene = await openDockerScene(rig);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test("a job that dockerd ended with its container runs again when dockerd is back", async ({ expect }) => {
    const record = await dockerFaults["dockerd restarted"](scene);
    expect(record.results).toMatchObject([{ status: "COMPLETED", output: "done" }]);
    expect(record.counted).toEqual({ completed: 1, failed: 0, retried: 1 });
    await untilDockerIsQuiet(scene);
  });

  test("a job that needs more memory than there is fails and says so, and the one behind it runs", async ({
    expect,
  }) => {
    const record = await dockerFaults["worker out of memory"](scene);
    expect(record.results).toMatchObject([
      { status: "FAILED", error: expect.stringContaining("ran out of memory") },
      { status: "COMPLETED", output: "done" },
    ]);
    expect(record.counted).toEqual({ completed: 1, failed: 1, retried: 1 });
    await untilDockerIsQuiet(scene);
  });

  test("a job whose image is missing runs as soon as the image is there", async ({ expect }) => {
    const record = await dockerFaults["image missing, then there"](scene);
    expect(record.results).toMatchObject([{ status: "COMPLETED", output: "done" }]);
    expect(record.seen).toContain("IN_QUEUE: image_pulling");
    await untilDockerIsQuiet(scene);
  });
});
