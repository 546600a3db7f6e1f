/** What a client does with pods of its own, and what has to hold of them. */
import { POD_PORT_VARIABLE } from "../host/container-servers.ts";
import type { SimulatedHost } from "../host/host.ts";
import { RTX_4090 } from "../host/inventory.ts";
import type { World } from "../world/world.ts";
import type { SimulatedClient } from "./client.ts";
import type { HistoryPlan } from "./plan.ts";
import type { Fault } from "./planned-faults.ts";

/** At which the programs of pods take requests, where clients send some. */
export const POD_PORT = 8_000;
const SERVING = `ports: "${POD_PORT}/http", env: [{ key: "${POD_PORT_VARIABLE}", value: "${POD_PORT}" }]`;
/** At most as many pods of one client at a time: they have their GPUs until they end. */
const PODS_MAX = 2;
const CHEAP_PODS_MAX = 4;
const CPUS: readonly number[] = [1, 4, 7];
const MEMORY_GB: readonly number[] = [1, 16, 28];
const BIDS: readonly number[] = [0.2, 0.5, 0.5];
const PAUSE_MS = 500;
const CALLS_MAX = 40;
/** After them the container of a pod may wait for its next start, or for its host. */
const DELAY_STARTS: readonly Fault[] = [
  "daemonBroken",
  "diskFull",
  "containerDies",
  "powerLost",
  "clockJumps",
];

/** After them nobody knows whether a change that was not answered was made. */
const CUT_CHANGES: readonly Fault[] = [
  "callsLost",
  "answersLost",
  "d1Fails",
  "objectCrashes",
  "redeployment",
  "scriptCrashes",
];

type Desired = "RUNNING" | "EXITED";
type KnownPod = {
  readonly podId: string;
  readonly isInterruptible: boolean;
  /** Null while calls that change it are under way, or their order is unknown. */
  desired: Desired | null;
  isChanging: boolean;
};
type PodView = {
  readonly id: string;
  readonly desiredStatus: Desired;
  readonly machineId: string;
  readonly imageName: string;
  readonly gpuCount: number;
};

export type PodUserParts = {
  readonly world: World;
  readonly client: SimulatedClient;
  readonly plan: HistoryPlan;
  readonly violate: (what: string) => void;
};

export class PodUser {
  readonly #parts: PodUserParts;
  readonly #pods = new Map<string, KnownPod>();
  #isClosed = false;

  constructor(parts: PodUserParts) {
    this.#parts = parts;
  }

  /** No more pods are made. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get ids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  /** Some operations one after another. */
  async act(): Promise<void> {
    const { random } = this.#parts.world;
    for (let left = random.whole(1, 4); left > 0; left -= 1) {
      await this.#step();
      await new Promise((resolve) => setTimeout(resolve, random.delay(this.#parts.plan.paceMs)));
    }
  }

  async #step(): Promise<void> {
    const { random } = this.#parts.world;
    const pods = [...this.#pods.values()].filter(({ isChanging }) => !isChanging);
    if (this.#isClosed) return;
    const [most, share] = this.#parts.plan.hasCheapPods ? [CHEAP_PODS_MAX, 0.7] : [PODS_MAX, 0.3];
    if (pods.length === 0 || (this.#pods.size < most && random.chance(share))) return await this.#create();
    const pod = random.pick(pods);
    await random.pick([
      () => this.#change(pod, "podStop", "EXITED"),
      () => this.#change(pod, "podResume", "RUNNING", `gpuCount: ${this.#gpuCount()}`),
      () => this.#change(pod, "podEditJob", pod.desired, this.#edit()),
      () => this.#restart(pod),
      () => this.#terminate(pod),
    ])();
  }

  close(): void {
    this.#isClosed = true;
  }

  /** What the service says of its pods, and whether containers are as it says; a minute after the last fault. */
  async check(hosts: readonly SimulatedHost[]): Promise<void> {
    const { plan, violate } = this.#parts;
    const isSure = !DELAY_STARTS.some((fault) => plan.faults.has(fault));
    for (const pod of await this.#all()) {
      const { id, desiredStatus } = pod;
      const { desired = null, isInterruptible = true, isChanging = false } = this.#pods.get(id) ?? {};
      if (isChanging) continue;
      const isEvicted = isInterruptible && desiredStatus === "EXITED";
      const isTold = desired !== null && !plan.faults.has("requestsRepeated");
      if (isTold && desired !== desiredStatus && !isEvicted)
        violate(`the pod ${id} is ${desiredStatus}, and was told to be ${desired}`);
      const expected = desiredStatus === "EXITED" ? "" : describe(pod);
      const found = hosts.flatMap((host) => describeContainer(id, host)).join(" and ");
      if (found !== expected && (isSure || found !== ""))
        violate(`the pod ${id} runs "${found}" instead of "${expected}"`);
    }
  }

  /** Ends all pods of the account, those too whose creation was never answered. */
  async terminateAll(): Promise<void> {
    for (const { id } of await this.#all()) await this.#end(id);
  }

  async #end(podId: string): Promise<void> {
    await this.#ask("/graphql", { query: `mutation { podTerminate(input: { podId: "${podId}" }) }` });
  }

  /** No call ends in the middle. */
  get #isWhole(): boolean {
    return !CUT_CHANGES.some((fault) => this.#parts.plan.faults.has(fault));
  }

  async #create(): Promise<void> {
    const { world, client } = this.#parts;
    const isInterruptible = world.random.chance(this.#parts.plan.hasCheapPods ? 0.9 : 0.5);
    const input = `name: "p", imageName: "i", gpuTypeId: "${this.#gpuModel()}", gpuCount: ${this.#gpuCount()},
      volumeInGb: 0, containerDiskInGb: 5, cloudType: ALL, startSsh: false ${this.#least()}
      ${this.#parts.plan.hasPodRequests ? SERVING : ""}`;
    const mutation = isInterruptible
      ? `podRentInterruptable(input: { bidPerGpu: ${world.random.pick(BIDS)}, ${input} })`
      : `podFindAndDeployOnDemand(input: { ${input} })`;
    const answer = await client.call("POST", "/graphql", { query: `mutation { made: ${mutation} { id } }` });
    const { made } = (answer?.body["data"] ?? {}) as { readonly made?: { readonly id: string } | null };
    if (made)
      this.#pods.set(made.id, { podId: made.id, isInterruptible, desired: "RUNNING", isChanging: false });
  }

  async #change(pod: KnownPod, mutation: string, desired: Desired | null, fields = ""): Promise<void> {
    pod.isChanging = true;
    const input = `{ podId: "${pod.podId}", ${fields} }`;
    const query = `mutation { ${mutation}(input: ${input}) { id } }`;
    await this.#doing(pod, desired, () => this.#ask("/graphql", { query }));
  }

  async #restart(pod: KnownPod): Promise<void> {
    await this.#doing(pod, "RUNNING", () => this.#ask(`/v1/pods/${pod.podId}/restart`, {}));
  }

  async #doing(pod: KnownPod, desired: Desired | null, ask: () => Promise<string>): Promise<void> {
    pod.isChanging = true;
    const outcome = await ask();
    // One that is refused changes nothing, and one that was answered late may have been done twice.
    if (outcome !== "refused" || !this.#isWhole) pod.desired = outcome === "done" ? desired : null;
    pod.isChanging = false;
  }

  #gpuCount(): number {
    const { world, plan } = this.#parts;
    if (world.random.chance(0.6)) return 1;
    return world.random.whole(1, Math.max(...plan.hostGpus));
  }

  #gpuModel(): string {
    const { world, plan } = this.#parts;
    const models = plan.hostKinds.flatMap((kind) => kind.models);
    return (models.length > 0 ? world.random.pick(models) : RTX_4090).name;
  }

  /** On hosts that differ a pod may ask for more than the share that goes with its GPUs. */
  #least(): string {
    const { world, plan } = this.#parts;
    if (plan.hostKinds.length === 0 || world.random.chance(0.4)) return "";
    return `minVcpuCount: ${world.random.pick(CPUS)}, minMemoryInGb: ${world.random.pick(MEMORY_GB)}`;
  }

  #edit(): string {
    const image = this.#parts.world.random.whole(1, 1e6);
    const ports = this.#parts.plan.hasPodRequests ? SERVING : `ports: ""`;
    return `imageName: "i${image}", dockerArgs: "", containerDiskInGb: 5, volumeInGb: 0, ${ports}`;
  }

  async #terminate(pod: KnownPod): Promise<void> {
    pod.isChanging = true;
    await this.#end(pod.podId);
    this.#pods.delete(pod.podId);
  }

  async #all(): Promise<readonly PodView[]> {
    const { myself } = await this.#parts.client.manage(
      "{ myself { pods { id desiredStatus machineId imageName gpuCount } } }",
    );
    return (myself?.["pods"] ?? []) as unknown as readonly PodView[];
  }

  /** Repeats the call until it is answered: whether it was done with its first call, or refused, or nobody knows. */
  async #ask(path: string, body: unknown): Promise<"done" | "refused" | "unknown"> {
    for (let calls = 1; calls <= CALLS_MAX; calls += 1) {
      const answer = await this.#parts.client.call("POST", path, body);
      if (answer && answer.status < 500) {
        if (calls > 1) return "unknown";
        return answer.status >= 400 || answer.body["errors"] ? "refused" : "done";
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return "unknown";
  }
}

function describe({ machineId, imageName, gpuCount }: PodView): string {
  return `${imageName} with ${gpuCount} GPUs on ${machineId}`;
}

/** Nothing when the pod has no container there that runs. */
function describeContainer(podId: string, { hostId, containers }: SimulatedHost): readonly string[] {
  const { isRunning = false, spec } = containers.all.get(podId) ?? {};
  if (!isRunning || !spec) return [];
  const { imageName, gpuIndexes } = spec;
  return [
    describe({
      id: podId,
      desiredStatus: "RUNNING",
      machineId: hostId,
      imageName,
      gpuCount: gpuIndexes.length,
    }),
  ];
}
