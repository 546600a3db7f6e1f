/** Docker and containers break while jobs run, on a host with a Docker daemon of its own. */
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  dockerFailures,
  type DockerScene,
  inside,
  openDockerScene,
  untilDockerIsQuiet,
} from "../../bench/faults/docker-faults.ts";
import { openPodScene, podFailures, untilNoPodIsLeft } from "../../bench/faults/pod-faults.ts";
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
    const record = await dockerFailures["dockerd restarted"](scene);
    expect(record.results).toMatchObject([{ status: "COMPLETED", output: "done" }]);
    expect(record.counted).toEqual({ completed: 1, failed: 0, retried: 1 });
    await untilDockerIsQuiet(scene);
  });

  test("what a worker may reach is the same again after dockerd and the packet filter of the host were restarted", async ({
    expect,
  }) => {
    const before = await rulesOf(scene);
    expect(before.length).toBeGreaterThan(50); // two tables of two families
    const record = await dockerFailures["dockerd restarted with an empty packet filter"](scene);
    expect(record.results).toMatchObject([{ status: "COMPLETED", output: "done" }]);
    expect(await rulesOf(scene)).toEqual(before);
    await untilDockerIsQuiet(scene);
  });

  test("a job that needs too much memory fails with that reason, and the next one runs", async ({
    expect,
  }) => {
    const record = await dockerFailures["worker out of memory"](scene);
    expect(record.results).toMatchObject([
      { status: "FAILED", error: expect.stringContaining("ran out of memory") },
      { status: "COMPLETED", output: "done" },
    ]);
    expect(record.counted).toEqual({ completed: 1, failed: 1, retried: 1 });
    await untilDockerIsQuiet(scene);
  });

  test("a job whose image is missing shows that, and runs as soon as the image exists", async ({
    expect,
  }) => {
    const record = await dockerFailures["image missing, then there"](scene);
    expect(record.results).toMatchObject([{ status: "COMPLETED", output: "done" }]);
    expect(record.seen).toContain("IN_QUEUE: image_pulling");
    expect(record.details.join()).toMatch(/late-.*again/);
    await untilDockerIsQuiet(scene);
  });
});

/** All lines of the host's packet filter that the agent has set. */
async function rulesOf({ host }: DockerScene): Promise<readonly string[]> {
  const printed = await Promise.all(
    ["iptables-save", "ip6tables-save"].map((command) => inside(host.link, [command])),
  );
  const lines = printed.flatMap((text) => text.split("\n"));
  return lines.filter((line) => line.includes("EDGERUN-")).toSorted();
}

/** Less than the benchmark copies; the daemon is killed as soon as the first bytes are there. */
const COPIED_BYTES = 60_000_000;

describe.runIf((await isDockerAvailable()) && (await canBreakHosts()))("a pod", () => {
  test.for([
    { what: "lives on with live restore", isLiveRestore: true, container: "container lived on" },
    { what: "gets another container", isLiveRestore: false, container: "another container" },
  ])(
    "$what when dockerd is killed, and a copy into it goes on",
    async ({ isLiveRestore, container }, { expect }) => {
      await using rig = await FleetRig.open(layOutBundle);
      const scene = await openPodScene(rig, isLiveRestore, COPIED_BYTES);
      const record = await podFailures["dockerd killed under a copy into a pod"](scene);
      expect(record.seen).toEqual(["copy ended with 0", container]);
      await untilNoPodIsLeft(scene);
    },
  );
});
