/** Reads the inputs that create pods. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { formatIssues } from "../../contract/validation-issues.ts";
import { podCreationSchema, type PodCreation } from "../../management/nouns/pod.ts";
import { stringSchema } from "../../management/input-schemas.ts";

/** Lists may contain nulls, as their GraphQL types allow; they are ignored. */
const listSchema = z.array(stringSchema.nullable()).nullish();

const placeSchema = z.object({
  computeType: stringSchema.nullish(),
  gpuTypeId: stringSchema.nullish(),
  gpuTypeIdList: listSchema,
  instanceId: stringSchema.nullish(),
  instanceIds: listSchema,
  dataCenterId: stringSchema.nullish(),
  dataCenterIds: listSchema,
  countryCode: stringSchema.nullish(),
  allowedCudaVersions: listSchema,
  cudaVersion: stringSchema.nullish(),
});

/** The one network volume of a pod, and where its container finds it. */
const volumeMountsSchema = z
  .array(
    z.object({
      volumeId: stringSchema.min(1, "must not be empty"),
      volumeType: z.literal("NETWORK_VOLUME", "must be NETWORK_VOLUME: there are no volumes of other types"),
      mountPath: stringSchema.nullish(),
    }),
  )
  .max(1, "must name at most one volume")
  .nullish();

/** Names of the members of GraphQL's inputs where a creation has others. */
const GPU_NAMES = new Map([
  ["gpuTypeIds", "gpuTypeId"],
  ["countryCodes", "countryCode"],
  ["dataCenterIds", "dataCenterId"],
]);
const CPU_NAMES = new Map([...GPU_NAMES, ["instanceIds", "instanceId"]]);

/** A pod on GPUs, or on the CPU sizes that the input names instead. */
export function readGpuPod(input: unknown): PodCreation {
  const creation = readCreation(input);
  if (creation.gpuTypeIds?.length || creation.instanceIds?.length || isForCpus(input)) return creation;
  throw new ServiceError(
    "invalid_input",
    "gpuTypeId: required, unless gpuTypeIdList or instanceIds says what to run on",
  );
}

/** Then a size is not needed either: the smallest is the default. */
function isForCpus(input: unknown): boolean {
  return placeSchema.parse(input ?? {}).computeType === "CPU";
}

/** A pod without GPUs, of the smallest size unless the input names one. */
export function readCpuPod(input: unknown): PodCreation {
  const creation = readCreation(input, CPU_NAMES);
  return { ...creation, gpuTypeIds: [] };
}

function readCreation(input: unknown, inputNames: ReadonlyMap<string, string> = GPU_NAMES): PodCreation {
  const sent = (input ?? {}) as Readonly<Record<string, unknown>>;
  const place = placeSchema.parse(sent);
  const isCpu = place.computeType === "CPU";
  const parsed = podCreationSchema.safeParse({
    ...sent,
    ...volumeOf(sent),
    gpuTypeIds: isCpu ? [] : names([place.gpuTypeId, ...(place.gpuTypeIdList ?? [])]),
    instanceIds: names([place.instanceId, ...(place.instanceIds ?? [])]),
    dataCenterIds: names([...(place.dataCenterId ?? "").split(","), ...(place.dataCenterIds ?? [])]),
    countryCodes: names([place.countryCode]),
    allowedCudaVersions: cudaVersionsOf(place),
  });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path: [field = "", ...rest], message }) => {
    const name = inputNames.get(String(field)) ?? field;
    return { path: [name, ...(name === field ? rest : [])], message };
  });
  throw new ServiceError("invalid_input", formatIssues({ issues }));
}

/** What volumeMounts, another spelling of networkVolumeId and volumeMountPath, says. */
function volumeOf({ volumeMounts, networkVolumeId }: Readonly<Record<string, unknown>>) {
  const parsed = volumeMountsSchema.safeParse(volumeMounts);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({
      path: ["volumeMounts", ...path],
      message,
    }));
    throw new ServiceError("invalid_input", formatIssues({ issues }));
  }
  const [mount] = parsed.data ?? [];
  if (!mount) return {};
  if (networkVolumeId && networkVolumeId !== mount.volumeId) {
    throw new ServiceError(
      "invalid_input",
      "volumeMounts: must not name another volume than networkVolumeId",
    );
  }
  const { volumeId, mountPath } = mount;
  return { networkVolumeId: volumeId, ...(mountPath && { volumeMountPath: mountPath }) };
}

/** Undefined where none is named, so that a template's stay. */
function cudaVersionsOf({ cudaVersion, allowedCudaVersions }: z.output<typeof placeSchema>) {
  const versions = names([cudaVersion, ...(allowedCudaVersions ?? [])]);
  return versions.length === 0 ? undefined : versions;
}

function names(values: readonly (string | null | undefined)[]): readonly string[] {
  const present = values.map((value) => value?.trim() ?? "").filter((value) => value !== "");
  return [...new Set(present)];
}
