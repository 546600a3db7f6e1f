/** What clients set of a pod. */
import * as z from "zod";
import { findGpuCard } from "../../catalog/gpu-cards.ts";
import { DATA_CENTERS } from "../../catalog/data-centers.ts";
import { POD_PORTS_MAX, POD_SYMMETRIC_PORT_MAX, POD_SYMMETRIC_PORT_MIN } from "../../contract/agent/agent.ts";
import {
  blankIsAbsent,
  cpuFlavorIdsSchema,
  entriesSchema,
  nameSchema as restNameSchema,
  podGpuTypeIdsSchema,
  stringsSchema,
  zeroIsAbsent,
} from "../../contract/rest/rest.ts";
import { splitList, type pod } from "../../db/schema.ts";
import {
  clearable,
  nameSchema,
  oneOf,
  optional,
  optionalNonEmpty,
  processString,
  stringSchema,
  wholeNumber,
} from "../input-schemas.ts";
import { momentSchema } from "../accounts/usage-report.ts";
import { cudaVersionSchema, cudaVersionsSchema, GPU_SHARE_DEFAULT, instanceIdSchema } from "./compute.ts";
import { PORTS_META } from "./container.ts";
import { patchShape, restInput, type Fields } from "./field.ts";
import { templateFields } from "./template.ts";

type Row = typeof pod.$inferSelect;

/** GPUs of one pod. */
const GPU_COUNT_MAX = 64;
/** Gigabytes that no host has, so that sums stay exact. */
const GIGABYTES_MAX = 1_000_000;
const PORT_MAX = 65_535;

const gigabytes = (min: number) => wholeNumber(min, GIGABYTES_MAX);

/** A comma list of ports; entries that are empty are skipped. */
const portListSchema = z
  .string()
  .max(1_000)
  .transform((ports, context) => {
    const entries = splitList(ports.replaceAll(" ", ""));
    const wrong = entries.find((entry) => !isPortEntry(entry));
    if (wrong !== undefined) {
      context.addIssue(
        `'${wrong}' must have the form <port>/<protocol>, with http or tcp as protocol and a port up to ${PORT_MAX}; ` +
          `a TCP port from ${POD_SYMMETRIC_PORT_MIN} on stands for one with the same number inside and outside`,
      );
    }
    const distinct = [...new Set(entries)];
    if (distinct.length > POD_PORTS_MAX) context.addIssue(`must name at most ${POD_PORTS_MAX} ports`);
    return distinct.join(",");
  });

function isPortEntry(entry: string): boolean {
  const [, digits, protocol] = /^(\d{1,5})\/(http|tcp)$/.exec(entry) ?? [];
  const port = Number(digits);
  if (digits === undefined || port < 1) return false;
  if (port <= PORT_MAX) return true;
  return protocol === "tcp" && port >= POD_SYMMETRIC_PORT_MIN && port <= POD_SYMMETRIC_PORT_MAX;
}

/** Ports of a pod, with their protocol. */
export function portsOf({ ports }: Pick<Row, "ports">) {
  return splitList(ports).map((entry) => {
    const [port = "", protocol] = entry.split("/");
    return { port: Number(port), protocol: protocol === "http" ? ("http" as const) : ("tcp" as const) };
  });
}

/** The root itself cannot be a volume, and a colon would end the path. */
const MOUNT_PATH = /^(?:\/[^/:\0][^:\0]*)?$/;
/** The runtime mounts its own there, without which nothing runs. */
const OF_RUNTIME = /^\/(?:proc|sys|dev)(?:\/|$)/;
const mountPathSchema = z
  .string()
  .max(1_000)
  .regex(MOUNT_PATH, "must be an absolute path below /, such as /workspace")
  .refine(
    (path) => path.split("/").every((name) => name !== "." && name !== ".."),
    "must have neither . nor .. in it",
  )
  .refine(
    (path) => !OF_RUNTIME.test(path),
    "must not be in /proc, /sys or /dev, which the container needs itself",
  );

const portsInRest = z
  .union([stringsSchema, stringSchema], "must be a list of strings such as 8888/http")
  .nullish()
  .meta({
    ...PORTS_META,
    override: { type: "array", items: { type: "string" } },
    example: ["8888/http", "22/tcp"],
  });

const { imageName, containerDiskInGb, dockerArgs, env, containerRegistryAuthId } = templateFields;

/** What all APIs can change of a pod. */
export const podFields = {
  name: {
    type: "String",
    input: "Up to 191 characters; need not be unique.",
    patch: optionalNonEmpty(nameSchema),
    rest: { input: blankIsAbsent(restNameSchema), default: "my pod", output: z.string() },
    v2: { name: "name", input: restNameSchema.optional(), creation: restNameSchema, output: z.string() },
  },
  imageName: {
    ...imageName,
    input: "Image reference with tag (latest when it has none); needed unless a template gives one.",
    patch: optionalNonEmpty(processString.trim().min(1, "must not be empty")),
    workerTrait: true,
    rest: { ...imageName.rest, creation: imageName.rest.input },
  },
  dockerArgs: {
    ...dockerArgs,
    input:
      'Arguments after the entry point of the image, split as a shell does; or a JSON object {"entrypoint": [], "cmd": []}.',
  },
  env: { ...env, input: "At most 50 variables." },
  ports: {
    type: "String",
    input: "Comma list of <port>/<protocol>; protocols: http, tcp.",
    patch: optional(portListSchema),
    default: "",
    workerTrait: true,
    rest: {
      input: portsInRest,
      toPatch: joinPorts,
      default: ["8888/http", "22/tcp"],
      output: z.array(z.string()).meta(PORTS_META),
      toOutput: splitList,
    },
    v2: {
      name: "ports",
      input: entriesSchema.optional().meta({ ...PORTS_META, example: ["22/tcp"] }),
      toPatch: joinPorts,
      output: z.array(z.string()).meta(PORTS_META),
      toOutput: splitList,
    },
  },
  containerDiskInGb: {
    ...containerDiskInGb,
    input: "GB of the container's disk.",
    patch: z.preprocess((value) => value || undefined, gigabytes(1).optional()),
    workerTrait: true,
    rest: { ...containerDiskInGb.rest, input: zeroIsAbsent(gigabytes(1)) },
    v2: { ...containerDiskInGb.v2, input: gigabytes(1).optional() },
  },
  volumeInGb: {
    type: "Int",
    input:
      "GB of the volume that stays on its host until the pod is terminated; a network volume takes its place.",
    patch: optional(gigabytes(0)),
    default: 0,
    workerTrait: true,
    rest: { input: gigabytes(0).nullish(), output: z.int() },
    v2: { name: "mounts.persistent.size", input: gigabytes(10) },
  },
  volumeMountPath: {
    type: "String",
    input: "Where the container finds the volume.",
    patch: optional(mountPathSchema),
    default: "",
    workerTrait: true,
    rest: { input: blankIsAbsent(stringSchema), default: "/workspace", output: z.string() },
    v2: { name: "mounts.persistent.path", input: stringSchema },
  },
  containerRegistryAuthId: {
    ...containerRegistryAuthId,
    rest: { input: stringSchema.nullish() },
  },
  locked: {
    type: "Boolean",
    input: "A locked pod can be neither stopped nor reset.",
    patch: optional(z.boolean()),
    default: false,
    rest: { input: z.boolean("must be true or false").nullish(), output: z.boolean() },
    v2: { name: "locked", input: z.boolean().optional(), output: z.boolean() },
  },
  stopAfter: {
    type: "DateTime",
    input: "When the pod is stopped by itself; an empty string for never.",
    patch: clearable(momentSchema),
    default: null,
  },
  terminateAfter: {
    type: "DateTime",
    input: "When the pod is terminated by itself; an empty string for never.",
    patch: clearable(momentSchema),
    default: null,
  },
} satisfies Fields<keyof Row>;

/** What a new pod is given as well; of the APIs only GraphQL changes it later. */
export const podCreationFields = {
  ...podFields,
  networkVolumeId: {
    type: "String",
    input: "A network volume of the account; its data center becomes that of the pod.",
    patch: clearable(stringSchema),
    default: null,
    workerTrait: true,
    rest: { input: stringSchema.nullish() },
  },
  startSsh: {
    type: "Boolean",
    input: "The container gets the account's public keys as PUBLIC_KEY; sshd is started if the image has it.",
    patch: optional(z.boolean()),
    default: false,
    workerTrait: true,
    v2: { name: "startSsh", input: z.boolean().optional() },
  },
  startJupyter: {
    type: "Boolean",
    input:
      "The container gets a password as JUPYTER_PASSWORD; Jupyter is started on port 8888 if the image has it.",
    patch: optional(z.boolean()),
    default: false,
    workerTrait: true,
    v2: { name: "startJupyter", input: z.boolean().optional() },
  },
} satisfies Fields<keyof Row>;

function joinPorts(ports: readonly string[] | string | null | undefined): string | undefined {
  return typeof ports === "string" ? ports : (ports?.join(",") ?? undefined);
}

/** What is asked to be different; undefined keeps. */
export const podPatchSchema = z.object(patchShape(podFields));
export type PodPatch = Partial<z.output<typeof podPatchSchema>>;

/** Where and on what a pod shall run, as all APIs ask for it. */
const placeShape = {
  templateId: optionalNonEmpty(stringSchema),
  gpuTypeIds: optional(z.array(cardSchema())),
  gpuCount: optional(wholeNumber(0, GPU_COUNT_MAX)),
  instanceIds: optional(z.array(instanceIdSchema)),
  minVcpuCount: optional(wholeNumber(0, 10_000)),
  minMemoryInGb: optional(gigabytes(0)),
  dataCenterIds: optional(z.array(dataCenterSchema())),
  countryCodes: optional(z.array(countrySchema())),
  allowedCudaVersions: optional(cudaVersionsSchema),
  minCudaVersion: optionalNonEmpty(cudaVersionSchema),
  supportPublicIp: optional(z.boolean()),
  isInterruptible: optional(z.boolean()),
  bidPerGpu: optional(z.number().min(0, "must not be negative").max(1_000_000)),
};

export const podCreationSchema = z
  .object({ ...patchShape(podCreationFields), ...placeShape })
  .refine(({ imageName: image, templateId }) => image !== undefined || templateId !== undefined, {
    path: ["imageName"],
    error: "required, unless templateId names a template",
  });
export type PodCreation = Partial<z.output<typeof podCreationSchema>>;

/** What can be sent of a pod that is there: as at its creation, but undefined keeps. */
export const podEditSchema = z.object({
  ...patchShape(podCreationFields),
  ...placeShape,
  minCudaVersion: clearable(cudaVersionSchema),
  /** It stays what it was at the creation. */
  computeType: optional(oneOf(["GPU", "CPU"])),
});
export type PodEdit = Partial<Omit<z.output<typeof podEditSchema>, "isInterruptible">>;

/** The name of a card. */
export function cardSchema() {
  return stringSchema.refine((id) => findGpuCard(id) !== undefined, {
    error: ({ input }) => `'${String(input)}' is no GPU type; gpuTypes lists them`,
  });
}

function dataCenterSchema() {
  return stringSchema.regex(
    /^[A-Z]{2,3}-[A-Z]{2,3}-\d{1,3}$/,
    "must be the id of a data center, such as EU-RO-1; dataCenters lists them",
  );
}

/** Countries without a data center are out of capacity: clients try one after the other. */
function countrySchema() {
  const message = "must be a country of two letters, such as US; countryCodes lists those with data centers";
  return stringSchema.refine((code) => /^[A-Z]{2}$/.test(code) && nameOfCountry(code) !== undefined, message);
}

const countryNames = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
/** Stands for a region that is none. */
const NO_COUNTRY = "ZZ";

function nameOfCountry(code: string): string | undefined {
  return code === NO_COUNTRY ? undefined : countryNames.of(code);
}

// REST v1

const flagInRest = z.boolean("must be true or false").nullish();
// Not z.json(), which follows nested values to any depth.
const ignored = z.unknown().optional().meta({ description: "Accepted and ignored." });

const startCommandShape = {
  dockerEntrypoint: stringsSchema.nullish().meta({
    description: "Replaces the ENTRYPOINT of the image. Empty: that of the image.",
  }),
  dockerStartCmd: stringsSchema.nullish().meta({
    description: "Replaces the CMD of the image. Empty: that of the image.",
    example: ["bash", "-c", "sleep infinity"],
  }),
  dockerArgs: stringSchema.nullish().meta({ description: "Both as GraphQL spells them." }),
};

/** Body of `POST /v1/pods`. */
export const podCreateSchema = z
  .object({
    ...restInput(podCreationFields, "creation"),
    ...startCommandShape,
    templateId: stringSchema.nullish().meta({
      description: "A Pod template, whose settings the pod gets where the body has none; variables of both.",
    }),
    computeType: blankIsAbsent(oneOf(["GPU", "CPU"])),
    cloudType: blankIsAbsent(oneOf(["SECURE", "COMMUNITY", "ALL"])).meta({
      description: "Accepted: all hosts count as secure.",
    }),
    gpuTypeIds: podGpuTypeIdsSchema.nullish().meta({
      description: "GPU types in order of preference; a GPU pod that names none takes any.",
    }),
    gpuCount: zeroIsAbsent(wholeNumber(1, GPU_COUNT_MAX)).meta({ description: "1 by default." }),
    cpuFlavorIds: cpuFlavorIdsSchema.nullish().meta({
      description: "CPU families in order of preference, for a pod whose computeType is CPU.",
    }),
    vcpuCount: zeroIsAbsent(wholeNumber(1, 32)).meta({ description: "vCPUs of a CPU pod; 2 by default." }),
    minVCPUPerGPU: wholeNumber(0, 1_000)
      .nullish()
      .meta({ description: `At least, for each GPU; ${GPU_SHARE_DEFAULT.vcpus} by default.` }),
    minRAMPerGPU: wholeNumber(0, 10_000)
      .nullish()
      .meta({ description: `GB, at least, for each GPU; ${GPU_SHARE_DEFAULT.memoryGb} by default.` }),
    dataCenterIds: optional(
      z.array(oneOf(DATA_CENTERS.map(({ id }) => id)), "must be a list of data center ids"),
    ),
    countryCodes: stringsSchema.nullish(),
    allowedCudaVersions: stringsSchema.nullish(),
    minCudaVersion: stringSchema.nullish(),
    supportPublicIp: flagInRest.meta({
      description: "With TCP ports: its host must have an address that clients reach.",
    }),
    interruptible: flagInRest.meta({
      description: "It gives way to other pods and to workers of endpoints.",
    }),
    startSsh: flagInRest,
    startJupyter: flagInRest,
    globalNetworking: ignored,
    gpuTypePriority: ignored,
    cpuFlavorPriority: ignored,
    dataCenterPriority: ignored,
    minDiskBandwidthMBps: ignored,
    minDownloadMbps: ignored,
    minUploadMbps: ignored,
  })
  .meta({ id: "PodCreateInput" });
export type PodCreateBody = z.infer<typeof podCreateSchema>;

const fixed = z.unknown().optional().meta({
  description: "Cannot be changed. Its present value is accepted, as clients send back what they read.",
});

/** Body of `PATCH /v1/pods/{podId}`: what it omits stays. */
export const podUpdateSchema = z
  .object({
    ...restInput(podFields, "update"),
    ...startCommandShape,
    globalNetworking: ignored,
    image: fixed.meta({ description: "Read only; imageName changes it." }),
    templateId: fixed,
    networkVolumeId: fixed,
    interruptible: fixed,
    computeType: fixed,
    gpuCount: fixed,
    gpuTypeId: fixed,
    gpu: fixed,
    cpuFlavorId: fixed,
  })
  .meta({ id: "PodUpdateInput" });
export type PodUpdateBody = z.infer<typeof podUpdateSchema>;
