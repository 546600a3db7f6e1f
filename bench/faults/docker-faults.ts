/** Faults of a host whose workers are containers of a Docker daemon that it has for itself. */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { ImageRegistry } from "../../test/support/image-registry.ts";
import { createEndpoint } from "../../test/support/management-client.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import type { HostLink } from "../../test/support/rig/host-link.ts";
import type { RigHost } from "../../test/support/rig/rig-host.ts";
import { ensureScriptImage } from "../../test/support/script-image.ts";
import { type FailureRecord, type FailureSettings, observe } from "./observation.ts";

const LOOK_AGAIN_MS = 100;
/** Longer than the 10 s that Docker gives to a container which it stops. */
const LONG_JOB = { mock_delay: 12, mock_return: "done" };
const JOB = { mock_delay: 2, mock_return: "done" };
/** Twice as much as the workers of the host may use together. */
const HUNGRY_JOB = { mock_size: 400_000_000 };
/** Longer than a registry that works needs for anything. */
const STALL_MS = 15_000;
/** Enough for the disk that each worker is promised. */
const DISK_GB = 8;
const CGROUPS = "/sys/fs/cgroup";
const MEMORY_BYTES = 200_000_000;

export type DockerScene = { readonly rig: FleetRig; readonly host: RigHost; readonly image: string };

/** A fleet of one host, which has the image of the test worker. */
export async function openDockerScene(rig: FleetRig): Promise<DockerScene> {
  const image = await ensureScriptImage();
  return { rig, image, host: await rig.addHost({ name: "box", dockerDiskGb: DISK_GB, images: [image] }) };
}

export const dockerFailures = {
  "dockerd restarted": (scene: DockerScene) =>
    observeOne(scene, {
      inputs: [LONG_JOB],
      underWay: 1,
      failure: async () => {
        await scene.host.docker.stop("SIGTERM");
        await scene.host.docker.start();
      },
    }),
  "dockerd killed and started again": (scene: DockerScene) =>
    observeOne(scene, {
      inputs: [LONG_JOB],
      underWay: 1,
      failure: async () => {
        await scene.host.docker.stop("SIGKILL");
        await scene.host.docker.start();
      },
    }),
  "dockerd restarted with an empty packet filter": async (scene: DockerScene) => {
    const { docker, link } = scene.host;
    await docker.stop("SIGTERM");
    await emptyPacketFilter(link);
    await docker.start();
    return observeOne(scene, { inputs: [JOB], underWay: 0, failure: async () => {} });
  },
  "agent killed and started again, with containers": (scene: DockerScene) =>
    observeOne(scene, {
      ...underJob,
      failure: async () => {
        await scene.host.killAgent();
        await scene.host.startAgent();
      },
    }),
  "container killed": (scene: DockerScene) =>
    observeOne(scene, { ...underJob, failure: () => killContainers(scene) }),
  "worker out of memory": async (scene: DockerScene) => {
    limitMemory(scene, MEMORY_BYTES);
    try {
      return await observeOne(scene, { inputs: [HUNGRY_JOB, JOB], underWay: 1, failure: async () => {} });
    } finally {
      limitMemory(scene, null);
    }
  },
  "image missing, then there": (scene: DockerScene) => {
    const image = `127.0.0.1:9/edgerun-test/late-${randomUUID()}`;
    return observeOne(
      { ...scene, image },
      {
        inputs: [JOB],
        underWay: 0,
        failure: async () => {
          await scene.host.logged("worker_prepare_failed", scene.host.log.length);
          await scene.host.docker.client.getImage(scene.image).tag({ repo: image });
        },
      },
    );
  },
  "pull stalled, then going on": (scene: DockerScene) =>
    observePull(scene, async (goOn) => {
      await delay(STALL_MS);
      goOn();
    }),
  "disk of the images full": (scene: DockerScene) =>
    observePull(scene, async (goOn) => {
      const { docker, log } = scene.host;
      await docker.disk.fill();
      goOn();
      await scene.host.logged("worker_prepare_failed", log.length);
      await docker.disk.free();
    }),
} satisfies Record<string, (scene: DockerScene) => Promise<FailureRecord>>;

/** Runs a command in a host's namespace; returns what it prints. */
export async function inside(link: HostLink, command: readonly string[]): Promise<string> {
  const [file = "", ...args] = link.inside(command);
  return (await execa(file, args)).stdout;
}

/** As a firewall does that is started again. */
async function emptyPacketFilter(link: HostLink): Promise<void> {
  for (const tool of ["iptables", "ip6tables"]) {
    for (const table of ["filter", "security"]) {
      for (const what of ["-F", "-X"]) await inside(link, [tool, "-t", table, what]);
    }
  }
}

const underJob = { inputs: [JOB, JOB], underWay: 1 };

async function observeOne({ rig, image }: DockerScene, settings: FailureSettings): Promise<FailureRecord> {
  const endpointId = await createEndpoint(rig, {
    name: `fault-${randomUUID()}`,
    imageName: image,
    workersMax: 1,
    idleTimeout: 1,
  });
  return observe(rig.clientOf(endpointId), settings);
}

/** The image comes from a registry, which sends half of each layer until `goOn` is called. */
async function observePull(
  scene: DockerScene,
  failure: (goOn: () => void) => Promise<void>,
): Promise<FailureRecord> {
  await using registry = await ImageRegistry.openWith(scene.image, null);
  const goOn = registry.stall("blobs");
  const { link, docker } = scene.host;
  const image = `${await link.reach(new URL(`http://${registry.image("")}`))}/team/model`;
  // Under all its names, or its layers stay and there is nothing to pull.
  for (const { Id } of await docker.client.listImages())
    await docker.client.getImage(Id).remove({ force: true });
  const settings = { inputs: [JOB], underWay: 0, failure: () => failure(goOn) };
  const record = await observeOne({ ...scene, image: `${image}:1` }, settings);
  const [repo = "", tag = ""] = scene.image.split(":");
  await docker.client.getImage(`${image}:1`).tag({ repo, tag });
  return record;
}

async function killContainers({ host }: DockerScene): Promise<void> {
  const { client } = host.docker;
  for (const { Id } of await client.listContainers()) await client.getContainer(Id).kill();
}

/** Limits the memory of all containers of the rig together; null for no limit. */
function limitMemory({ rig }: DockerScene, bytes: number | null): void {
  const isUnified = existsSync(join(CGROUPS, "cgroup.controllers"));
  const group = isUnified ? join(CGROUPS, rig.name) : join(CGROUPS, "memory", rig.name);
  mkdirSync(group, { recursive: true });
  if (isUnified) writeFileSync(join(group, "memory.max"), String(bytes ?? "max"));
  else writeFileSync(join(group, "memory.limit_in_bytes"), String(bytes ?? -1));
}

/** Waits until the host is there and has no container; tells how long that took. */
export async function untilDockerIsQuiet({ rig, host }: DockerScene): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const shown = (await rig.hosts()).get(host.name);
    const containers = await host.docker.client.listContainers({ all: true });
    if (shown?.isPresent && shown.workers === 0 && containers.length === 0) break;
    await delay(LOOK_AGAIN_MS);
  }
  return Math.round(performance.now() - startedAt);
}
