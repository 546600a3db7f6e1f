/** What a new pod is made of: what was sent, what its template gives, and the defaults. */
import { findDataCenter } from "../../catalog/data-centers.ts";
import type { PodValues } from "../../db/pods.ts";
import type { EnvironmentVariable } from "../../db/schema.ts";
import { hex } from "../../auth/digest.ts";
import { CONTAINER_DISK_DEFAULT_GB } from "../../contract/endpoint.ts";
import type { RequestContext } from "../context.ts";
import { requireTemplate, type TemplateRecord } from "../endpoints/templates.ts";
import { requireVolume } from "../endpoints/volumes.ts";
import { changesOf, defaultsOf } from "../nouns/field.ts";
import { podCreationFields, portsOf, type PodCreation, type PodPatch } from "../nouns/pod.ts";
import { mergeVariables } from "../nouns/variables.ts";
import { invalid, requireFuture, requireRunnable } from "./pod-settings.ts";

/** Disk of a CPU pod that does not set it. */
const CPU_DISK_DEFAULT_GB = 10;
const TORCH_VOLUME_GB = 20;
const CPU_SIZE_DEFAULT = "cpu3c-2-4";
/** Holds the variable with which images start JupyterLab. */
const JUPYTER_PASSWORD = "JUPYTER_PASSWORD";
const JUPYTER_PASSWORD_BYTES = 16;

type Source = Pick<
  PodValues,
  | "imageName"
  | "dockerArgs"
  | "env"
  | "ports"
  | "containerDiskInGb"
  | "volumeInGb"
  | "volumeMountPath"
  | "containerRegistryAuthId"
  | "startSsh"
  | "startJupyter"
  | "allowedCudaVersions"
>;

/** Its image is Ubuntu with sshd. */
const UBUNTU: Source = {
  imageName: "runpod/base:0.5.1-cpu",
  dockerArgs: "",
  env: [],
  ports: "8888/http,22/tcp",
  containerDiskInGb: CPU_DISK_DEFAULT_GB,
  volumeInGb: 0,
  volumeMountPath: "/workspace",
  containerRegistryAuthId: null,
  startSsh: true,
  startJupyter: false,
  allowedCudaVersions: null,
};

/** Its image is the same for GPUs, with PyTorch. */
const TORCH: Source = {
  ...UBUNTU,
  imageName: "runpod/pytorch:2.1.0-py3.10-cuda11.8.0-devel-ubuntu22.04",
  containerDiskInGb: CONTAINER_DISK_DEFAULT_GB,
  volumeInGb: TORCH_VOLUME_GB,
};

/** Templates that clients name without having made them: PyPI `runpod` for CPU pods, examples of runpodctl. */
const PUBLIC_TEMPLATES: ReadonlyMap<string, Source> = new Map([
  ["runpod-ubuntu", UBUNTU],
  ["runpod-torch-v21", TORCH],
]);

export async function valuesOfCreation(context: RequestContext, creation: PodCreation): Promise<PodValues> {
  const isCpu = !creation.gpuTypeIds?.length;
  const source = await sourceOf(context, creation.templateId);
  const {
    name = "my pod",
    imageName = source?.imageName ?? "",
    ...sent
  } = changesOf(podCreationFields, creation);
  const disk = isCpu ? CPU_DISK_DEFAULT_GB : CONTAINER_DISK_DEFAULT_GB;
  const container = {
    ...defaultsOf(podCreationFields),
    containerDiskInGb: disk,
    ...source,
    ...defined(sent),
  };
  const values: PodValues = {
    ...container,
    name,
    imageName,
    env: mergeVariables(source?.env ?? [], sent.env ?? []),
    templateId: creation.templateId ?? null,
    ...computeOf(creation, isCpu),
    ...cudaOf(creation, source),
    minVcpuCount: creation.minVcpuCount ?? 0,
    minMemoryInGb: creation.minMemoryInGb ?? 0,
    locations: await locationsOf(context, creation),
    needsPublicAddress: needsPublicAddress(creation, container),
    isInterruptible: creation.isInterruptible ?? false,
    bidPerGpu: creation.bidPerGpu ?? 0,
    clusterId: null,
    clusterRank: null,
  };
  requireRunnable(values);
  requireFuture(context, values);
  return { ...values, env: withPassword(values) };
}

async function sourceOf(
  context: RequestContext,
  templateId: string | undefined,
): Promise<Source | undefined> {
  if (templateId === undefined) return undefined;
  const known = PUBLIC_TEMPLATES.get(templateId);
  if (known !== undefined) return known;
  const template = await requireTemplate(context, templateId);
  if (template.isServerless) {
    throw invalid(
      `templateId: template '${template.name}' is a Serverless template; a pod needs a Pod template: save it with ` +
        "isServerless false, or name another one",
    );
  }
  return settingsOf(template);
}

function settingsOf(template: TemplateRecord): Source {
  const { imageName, dockerArgs, env, ports, containerDiskInGb, volumeInGb, volumeMountPath } = template;
  const { containerRegistryAuthId, startSsh, startJupyter, allowedCudaVersions } = template;
  const container = { imageName, dockerArgs, env, ports, containerDiskInGb, volumeInGb, volumeMountPath };
  return { ...container, containerRegistryAuthId, startSsh, startJupyter, allowedCudaVersions };
}

/** GPUs or CPUs; nothing said means the smallest CPU pod. */
export function computeOf({ gpuTypeIds = [], gpuCount, instanceIds = [] }: PodCreation, isCpu: boolean) {
  if (!isCpu && instanceIds.length > 0) {
    throw invalid("instanceIds: must not be sent together with GPU types: a pod runs on GPUs or on CPUs");
  }
  if (!isCpu) return { gpuTypeIds, gpuCount: gpuCount ?? 1, instanceIds: [] };
  return {
    gpuTypeIds: [],
    gpuCount: 0,
    instanceIds: instanceIds.length > 0 ? instanceIds : [CPU_SIZE_DEFAULT],
  };
}

/** What is sent of CUDA takes the place of all that the template says of it. */
export function cudaOf({ allowedCudaVersions, minCudaVersion }: PodCreation, source?: Source) {
  const isSent = allowedCudaVersions !== undefined || minCudaVersion !== undefined;
  const allowed = isSent ? allowedCudaVersions?.join(",") : source?.allowedCudaVersions;
  return { allowedCudaVersions: allowed ? allowed : null, minCudaVersion: minCudaVersion ?? null };
}

/** A network volume decides where the pod runs. */
export async function locationsOf(
  context: RequestContext,
  creation: PodCreation,
): Promise<readonly string[]> {
  const { dataCenterIds = [], countryCodes = [], networkVolumeId } = creation;
  const named = withinCountries(dataCenterIds, countryCodes);
  if (!networkVolumeId) return named;
  const { dataCenterId } = await requireVolume(context, networkVolumeId, "networkVolumeId");
  const country = findDataCenter(dataCenterId)?.countryCode;
  const isThere = named.length === 0 || named.some((place) => place === dataCenterId || place === country);
  if (isThere) return [dataCenterId];
  throw invalid(
    `networkVolumeId: network volume ${networkVolumeId} is in ${dataCenterId}, and the pod shall run in ${named.join(", ")}`,
  );
}

function withinCountries(dataCenterIds: readonly string[], countries: readonly string[]): readonly string[] {
  if (dataCenterIds.length === 0) return countries;
  if (countries.length === 0) return dataCenterIds;
  const both = dataCenterIds.filter((id) => {
    const country = findDataCenter(id)?.countryCode;
    return country === undefined || countries.includes(country);
  });
  if (both.length > 0) return both;
  throw invalid(
    `countryCode: none of the data centers ${dataCenterIds.join(", ")} is in ${countries.join(", ")}`,
  );
}

/** Most clients ask for a public address always; it matters where TCP ports are to be reached. */
export function needsPublicAddress(
  { supportPublicIp }: Pick<PodCreation, "supportPublicIp">,
  container: Pick<PodValues, "ports">,
): boolean {
  return supportPublicIp === true && portsOf(container).some(({ protocol }) => protocol === "tcp");
}

/** The variables of a pod, with a password for its Jupyter: the present one, if there is one in `before`. */
export function withPassword(
  { env, startJupyter }: Pick<PodValues, "env" | "startJupyter">,
  before: readonly EnvironmentVariable[] = [],
): readonly EnvironmentVariable[] {
  if (!startJupyter || env.some(isPassword)) return env;
  const value = hex(crypto.getRandomValues(new Uint8Array(JUPYTER_PASSWORD_BYTES)));
  return [...env, before.find(isPassword) ?? { key: JUPYTER_PASSWORD, value }];
}

function isPassword({ key }: EnvironmentVariable): boolean {
  return key === JUPYTER_PASSWORD;
}

/** Without what is undefined. */
export function defined<Values extends object>(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;
}

/** A patch with the settings of a template below it; `volume` stays as it is. */
export async function templatePatch<Patch extends PodPatch>(
  context: RequestContext,
  templateId: string,
  patch: Patch,
): Promise<Patch> {
  const source = await sourceOf(context, templateId);
  if (source === undefined) return patch;
  const { imageName, dockerArgs, ports, containerDiskInGb, containerRegistryAuthId, env } = source;
  return {
    ...{ imageName, dockerArgs, ports, containerDiskInGb, containerRegistryAuthId },
    ...defined(patch),
    env: mergeVariables(env, patch.env ?? []).map(({ key, value }) => ({ key, value })),
  };
}
