/** Items of the old service in the words of Edgerun, with notes on what changes. */
import { readCpuInstance } from "../../src/catalog/cpu-flavors.ts";
import { findDataCenter } from "../../src/catalog/data-centers.ts";
import { readGpuIds, unknownExclusion } from "../../src/catalog/gpu-selection.ts";
import {
  EXECUTION_TIMEOUT_DEFAULT_MS,
  EXECUTION_TIMEOUT_MAX_MS,
  EXECUTION_TIMEOUT_MIN_MS,
  NETWORK_VOLUME_MAX_GB,
} from "../../src/contract/limits.ts";
import type { Item, Settings } from "./plan.ts";
import type { SourceAccount } from "./source.ts";
import {
  sourceEndpointSchema,
  sourceTemplateSchema,
  sourceVolumeSchema,
  type SourceContainer,
  type SourceEndpoint,
  type SourceTemplate,
  type SourceVolume,
} from "./source-schemas.ts";

/** Images whose code belongs to an app. */
const FLASH_IMAGE = /^runpod\/flash\b/;

/** Everything that the account has, in the order of the old service. */
export function itemsOf(account: SourceAccount): readonly Item[] {
  const extras = new Map(account.extras.map((extra) => [extra.id, extra]));
  return [
    ...account.sshKeys.flatMap((line) => sshKeyItem(line) ?? []),
    ...account.secrets.map(({ name, description }): Item => ({
      ...plainItem("secret", name, name),
      description: description ?? undefined,
    })),
    ...account.registries.map(({ id, name }) => plainItem("registry", id, name)),
    ...account.delegations.map(({ id, repository }): Item => ({
      ...plainItem("registry", id, repository),
      problem: "delegated access to ECR is not offered: create a credential by hand",
    })),
    ...account.networkVolumes.map(volumeItem),
    ...namedOnce(account.templates.map(templateItem)),
    ...account.endpoints.map((endpoint) => endpointItem(endpoint, extras.get(endpoint.id))),
  ];
}

/** Of several with one name the first is migrated: an account has each name once. */
function namedOnce(items: readonly Item[]): readonly Item[] {
  const first = new Map(
    items
      .filter(({ problem }) => problem === undefined)
      .toReversed()
      .map((item) => [item.name, item]),
  );
  return items.map((item) =>
    item.problem !== undefined || first.get(item.name) === item
      ? item
      : {
          ...item,
          problem: `another one, ${first.get(item.name)?.sourceId}, has this name: rename one of them`,
        },
  );
}

function plainItem(kind: "secret" | "registry", sourceId: string, name: string): Item {
  return { kind, sourceId, name, settings: {}, notes: [] };
}

const KEY_END_CHARACTERS = 12;

/** The item for a line of authorized_keys: type and key identify it, the comment is for the reader. */
export function sshKeyItem(line: string): Item | undefined {
  const [type = "", key = "", ...comment] = line.trim().split(/\s+/);
  if (key === "") return undefined;
  return {
    kind: "ssh-key",
    sourceId: `${type} ${key}`,
    name: `${type} …${key.slice(-KEY_END_CHARACTERS)}`,
    settings: { key },
    description: comment.join(" "),
    notes: [],
  };
}

function volumeItem(volume: SourceVolume): Item {
  const { id, name, size, dataCenter, type } = volume;
  const notes = unknownMembers(volume, sourceVolumeSchema.shape);
  if (size > NETWORK_VOLUME_MAX_GB)
    notes.push(`size: ${NETWORK_VOLUME_MAX_GB} GB instead of ${size}, which is the most there is`);
  if (type === "HIGH_PERFORMANCE") notes.push("type: there is one type of storage");
  return {
    kind: "volume",
    sourceId: id,
    name,
    settings: { size: Math.min(size, NETWORK_VOLUME_MAX_GB), dataCenterId: dataCenter },
    notes: ["is created empty: copy its data", ...notes],
    problem: findDataCenter(dataCenter) === undefined ? `data center ${dataCenter} is unknown` : undefined,
  };
}

function templateItem(template: SourceTemplate): Item {
  const { id, name, image, mounts, allowedCudaVersions, category, startSsh, startJupyter } = template;
  const persistent = mounts?.persistent;
  const notes = unknownMembers(template, sourceTemplateSchema.shape);
  return {
    kind: "template",
    sourceId: id,
    name,
    settings: {
      ...containerSettings(template),
      isServerless: template.serverless,
      isPublic: template.public,
      category,
      startSsh,
      startJupyter,
      allowedCudaVersions: (allowedCudaVersions ?? []).join(","),
      volumeInGb: persistent?.size ?? 0,
      volumeMountPath: persistent?.path,
    },
    notes: [...notes, ...unknownMembers(mounts ?? {}, { persistent }).map((note) => `mounts.${note}`)],
    problem: image ? undefined : "it names no image",
  };
}

function containerSettings({ image, args, disk, ports, env, registry }: SourceContainer): Settings {
  return {
    imageName: image ?? undefined,
    dockerArgs: args ?? "",
    containerDiskInGb: disk || undefined,
    ports: (ports ?? []).join(","),
    env: env ?? {},
    containerRegistryAuthId: registry || undefined,
  };
}

type Extra = SourceAccount["extras"][number];

function endpointItem(endpoint: SourceEndpoint, extra: Extra | undefined): Item {
  const notes = unknownMembers(endpoint, sourceEndpointSchema.shape);
  if (extra?.modelReferences?.length) {
    notes.push(`modelReferences: are not offered (${extra.modelReferences.join(", ")})`);
  }
  if (extra?.compliance?.length) notes.push("compliance: is not kept; your own hosts decide it");
  const compute = computeOf(endpoint, notes);
  const settings = {
    type: endpoint.type === "LOAD_BALANCER" ? "LB" : "QB",
    ...compute.settings,
    ...containerSettings(endpoint),
    ...scalingSettings(endpoint, notes),
    locations: endpoint.dataCenterIds.join(","),
    flashBootType: endpoint.flashboot,
    networkVolumeIds: endpoint.networkVolumes,
  };
  if (endpoint.dataCenterIds.length > 0) {
    notes.push(`dataCenterIds: runs only on hosts in ${endpoint.dataCenterIds.join(", ")}`);
  }
  const { id, name } = endpoint;
  return {
    kind: "endpoint",
    sourceId: id,
    name,
    settings,
    notes,
    problem: imageProblem(endpoint) ?? compute.problem,
  };
}

function imageProblem({ image }: SourceEndpoint): string | undefined {
  if (!image) return "it names no image";
  if (FLASH_IMAGE.test(image)) return "it belongs to a Flash app: deploy that with `flash deploy`";
  return undefined;
}

type Compute = { readonly settings: Settings; readonly problem?: string | undefined };

function computeOf({ gpu, cpu }: SourceEndpoint, notes: string[]): Compute {
  if (gpu) return gpuSettings(gpu, notes);
  if (!cpu?.length) return { settings: {}, problem: "it names neither GPUs nor CPUs" };
  const instanceIds = cpu.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`);
  const [refused] = instanceIds.flatMap((instanceId) => {
    const reading = readCpuInstance(instanceId);
    return reading.kind === "refused" ? [`cpu ${instanceId}: ${reading.reason}`] : [];
  });
  return { settings: { instanceIds }, problem: refused };
}

function gpuSettings(gpu: NonNullable<SourceEndpoint["gpu"]>, notes: string[]): Compute {
  const exclusions = (gpu.excludedTypes ?? []).map((type) => type.trim());
  const kept = exclusions.filter((type) => unknownExclusion(`-${type}`) === undefined);
  for (const type of exclusions.filter((one) => !kept.includes(one))) {
    notes.push(`gpu.excludedTypes: '${type}' is left out, since no card has that name here`);
  }
  const gpuIds = [...gpu.pools, ...kept.map((type) => `-${type}`)].join(",");
  const reading = readGpuIds(gpuIds);
  const settings = {
    gpuIds,
    gpuCount: gpu.count ?? 1,
    allowedCudaVersions: (gpu.allowedCudaVersions ?? []).join(","),
    minCudaVersion: gpu.minCudaVersion ?? "",
  };
  if (reading.kind === "selection") return { settings };
  return {
    settings,
    problem: reading.kind === "no-gpu" ? "it names no GPUs" : `GPU ${reading.token} is unknown`,
  };
}

function scalingSettings({ workers, scaling, timeout }: SourceEndpoint, notes: string[]): Settings {
  const value = scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount;
  const scalerValue = Math.max(1, Math.ceil(value));
  if (scalerValue !== value)
    notes.push(`scaling: ${scalerValue} instead of ${value}, since it is a whole number`);
  // 0 is no limit of 0 ms.
  const wanted = timeout > 0 ? timeout : EXECUTION_TIMEOUT_DEFAULT_MS;
  const executionTimeoutMs = Math.min(Math.max(wanted, EXECUTION_TIMEOUT_MIN_MS), EXECUTION_TIMEOUT_MAX_MS);
  if (executionTimeoutMs !== timeout) notes.push(`timeout: ${executionTimeoutMs} ms instead of ${timeout}`);
  return {
    workersMin: workers.min,
    workersMax: workers.max,
    idleTimeout: workers.idleTimeout || undefined,
    scalerType: scaling.type,
    scalerValue,
    executionTimeoutMs,
  };
}

/** A note for each member that this command does not know, so that no setting is lost without a word. */
function unknownMembers(source: object, known: object): string[] {
  return Object.keys(source)
    .filter((member) => !Object.hasOwn(known, member))
    .map((member) => `${member}: is not migrated`);
}
