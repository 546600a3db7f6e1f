/** Faults of a host with a Docker daemon of its own, while a file is copied into a pod. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ensureTestImage, TEST_IMAGE } from "../../test/support/docker.ts";
import type { FleetRig } from "../../test/support/rig/fleet-rig.ts";
import type { RigHost } from "../../test/support/rig/rig-host.ts";
import { until } from "../../test/support/until.ts";
import type { FailureRecord } from "./observation.ts";

const COMMAND = resolve(import.meta.dirname, "../../cli/main.ts");
const LOOK_AGAIN_MS = 100;
/** Enough for the disk that a pod is promised. */
const DISK_GB = 8;
/** So much that the copy is under way when it breaks. */
const FILE_BYTES = 300_000_000;
const START_LIMIT_MS = 60_000;
/** A shell with the tools that a copy needs. */
const PROGRAM = ["sh", "-c", "busybox --install -s /bin; exec sleep 100000"];

export type PodScene = { readonly rig: FleetRig; readonly host: RigHost; readonly file: string };

/** A fleet of one host; `isLiveRestore`: its containers outlive their daemon. The file to copy has `fileBytes`. */
export async function openPodScene(
  rig: FleetRig,
  isLiveRestore: boolean,
  fileBytes = FILE_BYTES,
): Promise<PodScene> {
  await ensureTestImage();
  const settings = { name: "box", dockerDiskGb: DISK_GB, images: [TEST_IMAGE], isLiveRestore };
  const file = join(rig.directory, "model.bin");
  await writeFile(file, randomBytes(fileBytes));
  return { rig, file, host: await rig.addHost(settings) };
}

export const podFailures = {
  "dockerd killed under a copy into a pod": (scene: PodScene) =>
    observeCopy(scene, async ({ docker }) => {
      await docker.stop("SIGKILL");
      await docker.start();
    }),
  "agent and edge killed under a copy into a pod": (scene: PodScene) =>
    observeCopy(scene, async (host) => {
      process.kill(scene.rig.edgePid, "SIGKILL");
      await host.killAgent();
      await host.startAgent();
    }),
} satisfies Record<string, (scene: PodScene) => Promise<FailureRecord>>;

type ShownPod = { readonly id: string; readonly lastStatusChange: string; readonly runtime?: object };

/** Copies a file into a new pod, breaks something meanwhile, waits for the end of the copy, and ends the pod. */
async function observeCopy(
  scene: PodScene,
  failure: (host: RigHost) => Promise<void>,
): Promise<FailureRecord> {
  const { rig, host, file } = scene;
  const { id } = await call<ShownPod>(rig, "POST", "", POD);
  const shown = () => call<ShownPod>(rig, "GET", `/${id}`);
  await until(async () => (await shown()).runtime, "the pod runs", START_LIMIT_MS);
  const before = await containersOf(host);
  const volume = join(host.stateDirectory, "pods", id, "volume");
  const copy = spawn(process.execPath, [COMMAND, "cp", file, `${id}:/workspace/model.bin`], {
    env: { ...process.env, EDGERUN_URL: rig.baseUrl, SVC_API_KEY: rig.apiKey, HOME: rig.directory },
    stdio: "ignore",
  });
  const copied = once(copy, "exit");
  await until(() => readdirSync(volume).length > 0, "the copy is under way", START_LIMIT_MS);
  const brokenAt = performance.now();
  await failure(host);
  const [code] = await copied;
  const endedMs = Math.round(performance.now() - brokenAt);
  const isSame = (await containersOf(host)).join() === before.join();
  const { lastStatusChange } = await shown();
  await call(rig, "DELETE", `/${id}`);
  return {
    seen: [`copy ended with ${code}`, isSame ? "container lived on" : "another container"],
    details: [lastStatusChange.replace(/ since .*/, "")],
    endedMs,
    requeuedMs: null,
    results: [],
    counted: { completed: 0, failed: 0, retried: 0 },
  };
}

const POD = {
  name: "fault",
  imageName: TEST_IMAGE,
  dockerStartCmd: PROGRAM,
  computeType: "CPU",
  containerDiskInGb: 1,
  volumeInGb: 1,
  volumeMountPath: "/workspace",
  ports: [],
};

async function containersOf({ docker }: RigHost): Promise<readonly string[]> {
  return (await docker.client.listContainers()).map(({ Id }) => Id);
}

async function call<Answer>(rig: FleetRig, method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`${rig.baseUrl}/v1/pods${path}`, {
    method,
    headers: { authorization: `Bearer ${rig.apiKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Answer;
}

/** Waits until the host has neither containers nor volumes of pods; tells how long that took. */
export async function untilNoPodIsLeft({ host }: PodScene): Promise<number> {
  const startedAt = performance.now();
  const volumes = join(host.stateDirectory, "pods");
  for (;;) {
    const containers = await host.docker.client.listContainers({ all: true });
    if (containers.length === 0 && (!existsSync(volumes) || readdirSync(volumes).length === 0)) break;
    await delay(LOOK_AGAIN_MS);
  }
  return Math.round(performance.now() - startedAt);
}
