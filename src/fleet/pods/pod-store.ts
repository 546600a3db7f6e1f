/** SQL of the table of pods, with a copy in memory. */
import type { PublishedPort } from "../../contract/agent/agent.ts";
import type { PodConfig } from "../../contract/pod.ts";
import { type PodState, type StopReason, nextTimeOf } from "../../domain/pods/pod-life.ts";
import { volumeMbOf } from "../../domain/pods/pod-requirement.ts";
import type { ObjectDatabase } from "../../durable/sql.ts";
import { earliest } from "../../std/earliest.ts";

export type PodRecord = PodState & {
  /** As its container has them; empty while it does not run. */
  readonly ports: readonly PublishedPort[];
  /** Where the other pods of its cluster reach it, as long as it exists; null for none. */
  readonly clusterAddress: string | null;
};

export class PodStore {
  readonly #pods = new Map<string, PodRecord>();
  readonly #byAccount = new Map<string, Set<string>>();
  readonly #byCluster = new Map<string, Set<string>>();
  /** Pods that have a volume, by its host. */
  readonly #volumes = new Map<string, Set<string>>();
  /** Undefined: to be found again. */
  #nextTime: number | null | undefined = undefined;
  readonly #database: ObjectDatabase;

  constructor(database: ObjectDatabase) {
    this.#database = database;
  }

  load(): void {
    const rows = this.#database.all<PodRow>`
      SELECT config, version, desired, stop_reason AS stopReason, created_at AS createdAt, changed_at AS changedAt,
             volume_host_id AS volumeHostId, volume_number AS volumeNumber, ports, cluster_address AS clusterAddress
        FROM pod`;
    for (const { config, ports, ...row } of rows) {
      this.#remember({
        ...row,
        config: JSON.parse(config) as PodConfig,
        ports: JSON.parse(ports) as PublishedPort[],
      });
    }
  }

  get(podId: string): PodRecord | undefined {
    return this.#pods.get(podId);
  }

  all(): Iterable<PodRecord> {
    return this.#pods.values();
  }

  ofAccount(accountId: string): readonly PodRecord[] {
    return this.#named(this.#byAccount.get(accountId));
  }

  /** The pods of a cluster, or those of them that are left. */
  ofCluster(clusterId: string): readonly PodRecord[] {
    return this.#named(this.#byCluster.get(clusterId));
  }

  /** Ids of pods in their order, from the one behind `after` on. */
  page(after: string, limit: number): string[] {
    return [...this.#pods.keys()]
      .filter((podId) => podId > after)
      .toSorted()
      .slice(0, limit);
  }

  /** Pods whose volumes the host keeps. */
  withVolumeOn(hostId: string): readonly PodRecord[] {
    return this.#named(this.#volumes.get(hostId));
  }

  /** Disk of the volumes on a host. */
  volumesOn(hostId: string): { readonly count: number; readonly diskMb: number } {
    const pods = this.withVolumeOn(hostId);
    return { count: pods.length, diskMb: pods.reduce((sum, { config }) => sum + volumeMbOf(config), 0) };
  }

  /** When time changes a pod next; null for never. */
  get nextTime(): number | null {
    if (this.#nextTime === undefined) this.#nextTime = earliest(this.#pods.values().map(nextTimeOf));
    return this.#nextTime;
  }

  save(pod: PodRecord): void {
    this.#remember(pod);
    const { config, stopReason, volumeHostId } = pod;
    this.#database.run`
      INSERT OR REPLACE INTO pod
        (pod_id, config, version, desired, stop_reason, created_at, changed_at, volume_host_id,
         volume_number, ports, cluster_address)
      VALUES (${config.podId}, ${JSON.stringify(config)}, ${pod.version}, ${pod.desired}, ${stopReason},
              ${pod.createdAt}, ${pod.changedAt}, ${volumeHostId},
              ${pod.volumeNumber}, ${JSON.stringify(pod.ports)}, ${pod.clusterAddress})`;
  }

  remove(podId: string): void {
    this.#forget(podId);
    this.#database.run`DELETE FROM pod WHERE pod_id = ${podId}`;
  }

  #named(podIds: ReadonlySet<string> | undefined): readonly PodRecord[] {
    return [...(podIds ?? [])].flatMap((podId) => this.#pods.get(podId) ?? []);
  }

  #remember(pod: PodRecord): void {
    const { podId, accountId, cluster } = pod.config;
    this.#forget(podId);
    this.#pods.set(podId, pod);
    addTo(this.#byAccount, accountId, podId);
    if (cluster) addTo(this.#byCluster, cluster.clusterId, podId);
    if (pod.volumeHostId !== null) addTo(this.#volumes, pod.volumeHostId, podId);
    this.#nextTime = undefined;
  }

  #forget(podId: string): void {
    const pod = this.#pods.get(podId);
    if (!pod) return;
    this.#pods.delete(podId);
    const { accountId, cluster } = pod.config;
    removeFrom(this.#byAccount, accountId, podId);
    if (cluster) removeFrom(this.#byCluster, cluster.clusterId, podId);
    if (pod.volumeHostId !== null) removeFrom(this.#volumes, pod.volumeHostId, podId);
    this.#nextTime = undefined;
  }
}

type PodRow = Omit<PodRecord, "config" | "ports" | "desired" | "stopReason"> & {
  readonly config: string;
  readonly ports: string;
  readonly desired: PodState["desired"];
  readonly stopReason: StopReason | null;
};

function addTo(groups: Map<string, Set<string>>, key: string, podId: string): void {
  const group = groups.get(key);
  if (group) group.add(podId);
  else groups.set(key, new Set([podId]));
}

function removeFrom(groups: Map<string, Set<string>>, key: string, podId: string): void {
  const group = groups.get(key);
  group?.delete(podId);
  if (group?.size === 0) groups.delete(key);
}
