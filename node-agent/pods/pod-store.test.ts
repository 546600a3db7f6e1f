import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { AssignedPod } from "../../src/contract/agent/agent.ts";
import { PodStore } from "./pod-store.ts";

const POD = "p1";

async function fixture() {
  const stateDir = await mkdtemp(join(tmpdir(), "pod-store-"));
  const events: string[] = [];
  const note = (event: string): void => void events.push(event);
  const store = new PodStore({
    stateDir,
    journal: {
      podPorts: () => [],
      savePodPorts: () => {},
      podsWithPorts: () => [],
      removePodPorts: () => {},
    },
    log: { debug: note, info: note, warn: note, error: note },
    runtimeKind: "docker",
    publicPorts: { first: 20_000, last: 20_001 },
  });
  const file = join(stateDir, "pods", POD, "volume", "file");
  return {
    ...{ store, events, file },
    /** A container whose volume has a file. */
    async fill(): Promise<void> {
      await store.prepare(POD, withVolume(1));
      await writeFile(file, "kept");
    },
    [Symbol.asyncDispose]: () => rm(stateDir, { recursive: true, force: true }),
  };
}

function withVolume(volumeInGb: number, volumeNumber?: number): AssignedPod {
  return { volumeInGb, volumeNumber, volumeMountPath: "/workspace", ports: [] };
}

describe("the local volume of a pod", () => {
  test("is removed before a container starts that has none, and is empty afterwards", async ({ expect }) => {
    await using one = await fixture();
    await one.fill();
    one.store.setKept([]);
    await one.store.sweep(new Set([POD])); // its container may still run
    expect(await readFile(one.file, "utf8")).toBe("kept");
    expect((await one.store.prepare(POD, withVolume(0))).volumePath).toBeNull();
    expect(existsSync(one.file)).toBe(false);
    await one.store.prepare(POD, withVolume(1));
    expect(existsSync(one.file)).toBe(false);
    expect(one.events).toEqual(["pod_volume_removed"]);
  });

  test("stays with its number, and another one is empty", async ({ expect }) => {
    await using one = await fixture();
    await one.fill();
    await one.store.prepare(POD, withVolume(2, 0));
    expect(await readFile(one.file, "utf8")).toBe("kept");
    const { volumePath } = await one.store.prepare(POD, withVolume(2, 1));
    expect(await readdir(volumePath ?? "")).toEqual([]);
    expect(existsSync(one.file)).toBe(false);
    await writeFile(join(volumePath ?? "", "file"), "new");
    expect((await one.store.prepare(POD, withVolume(3, 1))).volumePath).toBe(volumePath);
    expect(await readdir(volumePath ?? "")).toEqual(["file"]);
  });

  test("is empty for a container that starts while it is being removed", async ({ expect }) => {
    await using one = await fixture();
    await one.fill();
    one.store.setKept([]);
    const removal = one.store.containerRemoved(POD);
    one.store.setKept([POD]);
    const { volumePath } = await one.store.prepare(POD, withVolume(1));
    await removal;
    expect(existsSync(one.file)).toBe(false);
    expect(existsSync(volumePath ?? "")).toBe(true);
  });

  test("stays when its container is removed and the edge keeps it, or has said nothing", async ({
    expect,
  }) => {
    await using one = await fixture();
    await one.fill();
    await one.store.containerRemoved(POD);
    one.store.setKept([POD]);
    await one.store.containerRemoved(POD);
    await one.store.prepare(POD, withVolume(1));
    expect(await readFile(one.file, "utf8")).toBe("kept");
  });
});
