/** Reads the inputs that create and change pods. */
import * as z from "zod";
import { ServiceError } from "../../contract/errors.ts";
import { formatIssues } from "../../contract/validation-issues.ts";
import { podCreationSchema, podEditSchema, type PodCreation } from "../../management/nouns/pod.ts";
import { idSchema, stringSchema } from "../../management/input-schemas.ts";

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

const editSchema = podEditSchema.omit({ isInterruptible: true }).extend({ podId: idSchema });

/** What a pod shall be: the fields of its creation, of which those stay as they are that are not sent. */
export function readPodEdit(input: unknown): z.output<typeof editSchema> {
  return read(editSchema, input, sentPlace(input));
}

/** Empty lists are no choice here, so that a template's stay. */
function readCreation(input: unknown, inputNames?: ReadonlyMap<string, string>): PodCreation {
  const place = sentPlace(input);
  const { allowedCudaVersions } = place;
  return read(
    podCreationSchema,
    input,
    { ...place, allowedCudaVersions: allowedCudaVersions?.length ? allowedCudaVersions : undefined },
    inputNames,
  );
}

function read<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  place: ReturnType<typeof sentPlace>,
  inputNames: ReadonlyMap<string, string> = GPU_NAMES,
): z.output<Schema> {
  const sent = (input ?? {}) as Readonly<Record<string, unknown>>;
  const parsed = schema.safeParse({ ...sent, ...volumeOf(sent), ...place });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path: [field = "", ...rest], message }) => {
    const name = inputNames.get(String(field)) ?? field;
    return { path: [name, ...(name === field ? rest : [])], message };
  });
  throw new ServiceError("invalid_input", formatIssues({ issues }));
}

/** Where and on what it shall run; undefined where nothing is said. A CPU pod has no GPU types. */
function sentPlace(input: unknown) {
  const place = placeSchema.parse(input ?? {});
  const gpuTypeIds = names([place.gpuTypeId, ...(place.gpuTypeIdList ?? [])]);
  const instanceIds = names([place.instanceId, ...(place.instanceIds ?? [])]);
  const isForGpus = place.computeType !== "CPU" && gpuTypeIds.length > 0;
  return {
    gpuTypeIds: isForGpus ? gpuTypeIds : undefined,
    instanceIds: instanceIds.length > 0 ? instanceIds : undefined,
    dataCenterIds: sentNames(place.dataCenterId?.split(","), place.dataCenterIds),
    countryCodes: sentNames(place.countryCode),
    allowedCudaVersions: sentNames(place.cudaVersion, place.allowedCudaVersions),
  };
}

type Sent = string | readonly (string | null)[] | null | undefined;

/** Of one and several that are sent together; undefined where neither is. */
function sentNames(...values: readonly Sent[]): readonly string[] | undefined {
  const sent = values.filter((value) => value !== null && value !== undefined);
  return sent.length === 0 ? undefined : names(sent.flat());
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

function names(values: readonly (string | null | undefined)[]): readonly string[] {
  const present = values.map((value) => value?.trim() ?? "").filter((value) => value !== "");
  return [...new Set(present)];
}
