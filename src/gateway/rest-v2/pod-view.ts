/** A pod as REST v2 shows it. */
import * as z from "zod";
import type { RequestContext } from "../../management/context.ts";
import { nestedOutput, toNested } from "../../management/nouns/field.ts";
import { podFields } from "../../management/nouns/pod.ts";
import { showPod, type ShownPod } from "../../management/pods/pod-view.ts";
import type { Pod } from "../../management/pods/pods.ts";
import { nest, nestedAnswer } from "./nesting.ts";

export const ACTIONS = ["start", "stop", "restart", "terminate"] as const;
export const STATUSES = ["PROVISIONING", "STARTING", "RUNNING", "EXITED", "ERROR", "TERMINATED"] as const;
const SSH_PORT = 22;

const sshSchema = z.object({ host: z.string(), port: z.int(), username: z.string(), command: z.string() });
const useSchema = z.object({ util: z.int().optional() });

const { locked, ...container } = podFields;

export const podSchema = nestedAnswer({
  id: z.string(),
  ...nestedOutput(container),
  status: z.enum(STATUSES),
  actions: z.array(z.enum(ACTIONS)),
  gpu: z
    .object({ id: z.string(), count: z.int(), vcpuCount: z.number(), memory: z.number() })
    .optional()
    .meta({ description: "With the vCPUs and the GB of memory of the whole pod." }),
  cpu: z.object({ id: z.string(), vcpuCount: z.int(), memory: z.int() }).optional(),
  mounts: z.object({
    persistent: z.object({ size: z.int(), path: z.string() }).optional(),
    network: z.array(z.object({ volumeId: z.string(), path: z.string() })).optional(),
  }),
  cloud: z.enum(["SECURE"]),
  dataCenterId: z.string().nullable(),
  cudaVersion: z.null(),
  ssh: z.object({
    proxy: sshSchema.nullable().meta({
      description:
        "Through a tunnel, by the command edgerun. Null while the container is not up, or without startSsh.",
    }),
    direct: sshSchema.nullable().meta({ description: "Null unless 22/tcp is published." }),
  }),
  template: z.null().meta({ description: "A template is applied once, and no link to it stays." }),
  cost: z.number().meta({ description: "Nominal, in dollars per hour; 0 for a stopped pod." }),
  ...nestedOutput({ locked }),
  globalNetworking: z.object({ enabled: z.boolean() }),
  cluster: z
    .object({
      id: z.string(),
      rank: z.int().nullable(),
      ip: z
        .string()
        .optional()
        .meta({ description: "Where the other pods of the cluster reach it; absent where they do not." }),
    })
    .optional(),
  runtime: z
    .object({
      uptime: z.int(),
      gpus: z.array(z.object({ util: z.int().optional(), memoryUtil: z.int().optional() })),
      cpu: useSchema,
      memory: useSchema,
      ports: z.array(
        z.object({
          private: z.int(),
          public: z.int().nullable(),
          type: z.string(),
          ip: z.string().nullable(),
        }),
      ),
    })
    .nullable()
    .meta({ description: "Null while the container is not up." }),
  lastStatusChange: z.string().meta({ description: "What happened last, and when." }),
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().nullable(),
}).meta({ id: "ContainerPod" });

export function show(request: RequestContext, pod: Pod): object {
  const { record } = pod;
  const shown = showPod(request, pod);
  return nest({
    id: record.id,
    ...toNested(podFields, record),
    status: statusOf(pod),
    actions: actionsOf(pod),
    ...computeOf(pod, shown),
    mounts: mountsOf(pod),
    cloud: "SECURE",
    dataCenterId: shown.dataCenterId,
    cudaVersion: null,
    ssh: { proxy: record.startSsh ? tunnelSshOf(shown) : null, direct: sshOf(shown) },
    template: null,
    cost: pod.view.desired === "stopped" ? 0 : shown.costPerHr,
    globalNetworking: { enabled: false },
    cluster:
      record.clusterId === null
        ? undefined
        : { id: record.clusterId, rank: record.clusterRank, ip: shown.clusterIp ?? undefined },
    runtime: runtimeOf(shown),
    lastStatusChange: shown.lastStatusChange,
    createdAt: new Date(record.createdAt).toISOString(),
    startedAt: shown.lastStartedAt,
  });
}

export function statusOf({ view: { desired, worker } }: Pod): (typeof STATUSES)[number] {
  if (desired === "stopped") return "EXITED";
  switch (worker?.state) {
    case "ready":
      return "RUNNING";
    case "unhealthy":
    case "crash_looping":
      return "ERROR";
    case "starting":
    case "stopping":
    case "standby":
      return "STARTING";
    case "pulling":
    case undefined:
      return "PROVISIONING";
  }
}

/** What can be done with it now. */
export function actionsOf({ record, view }: Pod): readonly (typeof ACTIONS)[number][] {
  if (view.desired === "stopped") return ["start", "terminate"];
  return record.locked ? ["restart", "terminate"] : ["stop", "restart", "terminate"];
}

function computeOf({ record }: Pod, { machine, vcpuCount, memoryInGb: memory }: ShownPod) {
  const [instanceId] = record.instanceIds;
  if (instanceId === undefined) {
    return { gpu: { id: machine.gpuTypeId ?? "", count: record.gpuCount, vcpuCount, memory } };
  }
  const [id = "", vcpus, gigabytes] = instanceId.split("-");
  return { cpu: { id, vcpuCount: Number(vcpus), memory: Number(gigabytes) } };
}

function mountsOf({ record }: Pod) {
  const { networkVolumeId, volumeInGb: size, volumeMountPath: path } = record;
  if (networkVolumeId !== null) return { network: [{ volumeId: networkVolumeId, path }] };
  return size > 0 ? { persistent: { size, path } } : {};
}

export function sshOf({ runtime }: ShownPod) {
  const port = runtime?.ports.find(({ isIpPublic, privatePort }) => isIpPublic && privatePort === SSH_PORT);
  if (!port) return null;
  const { ip: host, publicPort } = port;
  return { host, port: publicPort, username: "root", command: `ssh root@${host} -p ${publicPort}` };
}

/** Through a tunnel, wherever its host is; the host name is the one that `edgerun ssh-config` makes known to ssh. */
function tunnelSshOf({ id, runtime }: ShownPod) {
  if (runtime === null) return null;
  const host = `${id}.edgerun`;
  const command = `ssh -o ProxyCommand='edgerun tunnel ${id} ${SSH_PORT}' root@${host}`;
  return { host, port: SSH_PORT, username: "root", command };
}

function runtimeOf({ runtime }: ShownPod) {
  if (runtime === null) return null;
  const use = (percent: number | null, name = "util") =>
    percent === null ? {} : { [name]: Math.min(100, Math.round(percent)) };
  return {
    uptime: runtime.uptimeInSeconds,
    gpus: runtime.gpus.map(({ gpuUtilPercent, memoryUtilPercent }) => ({
      ...use(gpuUtilPercent),
      ...use(memoryUtilPercent, "memoryUtil"),
    })),
    cpu: use(runtime.container.cpuPercent),
    memory: use(runtime.container.memoryPercent),
    ports: runtime.ports.map(({ isIpPublic, privatePort, publicPort, type, ip }) => ({
      private: privatePort,
      public: isIpPublic ? publicPort : null,
      type,
      ip: isIpPublic ? ip : null,
    })),
  };
}
