/** REST v1: `/v1/…`. */
import * as z from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from "zod-openapi";
import {
  billingQuerySchema,
  billingRecordSchema,
  podCreateSchema,
  podSchema,
} from "../../../contract/rest/rest-pod.ts";
import { podLogsSchema } from "../../../contract/agent/log.ts";
import {
  endpointCreateSchema,
  endpointSchema,
  endpointUpdateSchema,
} from "../../../management/nouns/endpoint.ts";
import {
  registryAuthCreateSchema,
  registryAuthSchema,
  volumeCreateSchema,
  volumeSchema,
  volumeUpdateSchema,
} from "../../../contract/rest/rest-storage.ts";
import {
  templateCreateSchema,
  templateSchema,
  templateUpdateSchema,
} from "../../../management/nouns/template.ts";
import { hostSchema, hostUpdateSchema } from "../../../contract/rest/rest-host.ts";
import { includeSchema } from "../../../contract/rest/rest.ts";
import { restOperation } from "./operation.ts";

/** One noun of REST; absent members are operations that it does not have. */
type Noun = {
  readonly path: string;
  readonly parameter: string;
  readonly tag: string;
  readonly one: string;
  readonly many: string;
  /** In the ids of operations: createTemplate, listTemplates. */
  readonly name: string;
  readonly plural: string;
  readonly view: z.ZodType;
  readonly created: z.ZodType;
  readonly example: unknown;
  readonly changed?: z.ZodType;
  readonly listQuery?: z.ZodObject;
  readonly oneQuery?: z.ZodObject;
  readonly deletion?: string;
};

const READ = [401, 500] as const;
const FIND = [401, 404, 500] as const;
const WRITE = [400, 401, 404, 413, 500, 503] as const;

/** The operations that all nouns share. */
function nounPaths(noun: Noun): ZodOpenApiPathsObject {
  const itemPath = `/v1/${noun.path}/{${noun.parameter}}`;
  const parameters = z.object({ [noun.parameter]: z.string() });
  const change = changeOperations(noun, parameters);
  return {
    [`/v1/${noun.path}`]: listOperations(noun),
    [itemPath]: {
      ...oneOperations(noun, parameters),
      ...(change && { patch: change.patch }),
    },
    ...(change && { [`${itemPath}/update`]: { post: change.post } }),
  };
}

function listOperations({ tag, one, many, name, plural, view, ...noun }: Noun) {
  const list = {
    id: `list${plural}`,
    tag,
    summary: `List ${many}`,
    ...(noun.listQuery && { query: noun.listQuery }),
    answer: z.array(view),
  };
  const creation = { body: noun.created, example: noun.example, answer: view };
  return {
    get: restOperation(list, READ),
    post: restOperation({ id: `create${name}`, tag, summary: `Create ${one}`, ...creation }, WRITE),
  };
}

function oneOperations({ tag, one, name, view, oneQuery, deletion }: Noun, path: z.ZodObject) {
  const find = {
    id: `get${name}`,
    tag,
    summary: `Get ${one}`,
    path,
    ...(oneQuery && { query: oneQuery }),
    answer: view,
  };
  const removal = {
    id: `delete${name}`,
    tag,
    summary: `Delete ${one}`,
    ...(deletion !== undefined && { details: deletion }),
    path,
    answer: undefined,
    status: 204 as const,
  };
  return {
    get: restOperation(find, FIND),
    delete: restOperation(removal, [400, 401, 404, 500, 503]),
  };
}

function changeOperations({ tag, one, name, changed, view }: Noun, path: z.ZodObject) {
  if (!changed) return undefined;
  const details = "Omitted fields are left unchanged.";
  const described = { tag, details, path, body: changed, example: {}, answer: view };
  return {
    patch: restOperation({ id: `update${name}`, summary: `Change ${one}`, ...described }, WRITE),
    post: restOperation(
      { id: `update${name}ByPost`, summary: `Change ${one} (the same)`, ...described },
      WRITE,
    ),
  };
}

const endpointQuery = z.object({ includeTemplate: includeSchema, includeWorkers: includeSchema });

const NOUNS: readonly Noun[] = [
  {
    path: "endpoints",
    parameter: "endpointId",
    tag: "Endpoints",
    one: "an endpoint",
    many: "endpoints",
    name: "Endpoint",
    plural: "Endpoints",
    view: endpointSchema,
    created: endpointCreateSchema,
    example: { templateId: "xkhgg72fuo4q8z", name: "sdxl", gpuTypeIds: ["NVIDIA GeForce RTX 4090"] },
    changed: endpointUpdateSchema,
    listQuery: endpointQuery,
    oneQuery: endpointQuery,
    deletion: "Its workers are drained and its jobs cancelled.",
  },
  {
    path: "templates",
    parameter: "templateId",
    tag: "Templates",
    one: "a template",
    many: "templates",
    name: "Template",
    plural: "Templates",
    view: templateSchema,
    created: templateCreateSchema,
    example: { name: "sdxl", imageName: "ghcr.io/acme/worker:1.4", isServerless: true },
    changed: templateUpdateSchema,
    listQuery: z.object({
      includeEndpointBoundTemplates: includeSchema.meta({
        description: "Includes templates that were defined inline with an endpoint.",
        override: { type: "boolean", default: false },
      }),
      includePublicTemplates: includeSchema.meta({
        description: "Accepted for compatibility; ignored.",
        override: { type: "boolean", default: false },
      }),
      includeRunpodTemplates: includeSchema.meta({
        description: "Accepted for compatibility; ignored.",
        override: { type: "boolean", default: false },
      }),
    }),
    deletion: "Refused while an endpoint uses it.",
  },
  {
    path: "networkvolumes",
    parameter: "networkVolumeId",
    tag: "Network volumes",
    one: "a network volume",
    many: "network volumes",
    name: "NetworkVolume",
    plural: "NetworkVolumes",
    view: volumeSchema,
    created: volumeCreateSchema,
    example: { name: "models", size: 50, dataCenterId: "EU-RO-1" },
    changed: volumeUpdateSchema,
    deletion: "Refused while an endpoint uses it.",
  },
  {
    path: "containerregistryauth",
    parameter: "containerRegistryAuthId",
    tag: "Registry credentials",
    one: "registry credentials",
    many: "registry credentials",
    name: "ContainerRegistryAuth",
    plural: "ContainerRegistryAuths",
    view: registryAuthSchema,
    created: registryAuthCreateSchema,
    example: { name: "ghcr", username: "acme", password: "secret" },
    deletion: "Refused while a template uses them.",
  },
];

const hostPath = z.object({ hostId: z.string() });
const HOSTS = { tag: "Hosts" };

const HOST_PATHS: ZodOpenApiPathsObject = {
  "/v1/hosts": {
    get: restOperation(
      { ...HOSTS, id: "listHosts", summary: "List hosts", answer: z.array(hostSchema) },
      READ,
    ),
  },
  "/v1/hosts/{hostId}": {
    get: restOperation(
      { ...HOSTS, id: "getHost", summary: "Get a host", path: hostPath, answer: hostSchema },
      FIND,
    ),
    patch: restOperation(
      {
        ...HOSTS,
        id: "updateHost",
        summary: "Cordon or drain a host, or undo it",
        details: "Omitted fields are left unchanged.",
        path: hostPath,
        body: hostUpdateSchema,
        example: { drained: true },
        answer: hostSchema,
      },
      WRITE,
    ),
    delete: restOperation(
      {
        ...HOSTS,
        id: "deleteHost",
        summary: "Remove a host",
        details: "Revokes its token. Its workers are placed elsewhere, and their jobs run again.",
        path: hostPath,
        answer: undefined,
        status: 204,
      },
      FIND,
    ),
  },
};

const podPath = z.object({ podId: z.string() });

function podOperation(id: string, summary: string): ZodOpenApiOperationObject {
  return restOperation({ id, tag: "Pods", summary, path: podPath, answer: podSchema }, FIND);
}

const POD_PATHS: ZodOpenApiPathsObject = {
  "/v1/pods": {
    get: restOperation(
      { id: "listPods", tag: "Pods", summary: "List pods", answer: z.array(podSchema) },
      READ,
    ),
    post: restOperation(
      {
        id: "createPod",
        tag: "Pods",
        summary: "Create a pod",
        details: "Not supported yet: a valid body is answered with 503.",
        body: podCreateSchema,
        answer: podSchema,
        status: 201,
      },
      WRITE,
    ),
  },
  "/v1/pods/{podId}": {
    get: podOperation("getPod", "Get a pod"),
    patch: podOperation("updatePod", "Change a pod"),
    delete: restOperation(
      {
        id: "deletePod",
        tag: "Pods",
        summary: "Delete a pod",
        path: podPath,
        answer: undefined,
        status: 204,
      },
      FIND,
    ),
  },
  "/v1/pod/{podId}/logs": {
    get: restOperation(
      {
        id: "getPodLogs",
        tag: "Pods",
        summary: "Get the last lines of a worker's logs",
        path: podPath,
        answer: podLogsSchema,
      },
      FIND,
    ),
  },
  "/v1/pods/{podId}/update": { post: podOperation("updatePodByPost", "Change a pod (the same)") },
  "/v1/pods/{podId}/start": { post: podOperation("startPod", "Start a pod") },
  "/v1/pods/{podId}/stop": { post: podOperation("stopPod", "Stop a pod") },
  "/v1/pods/{podId}/reset": { post: podOperation("resetPod", "Reset a pod") },
  "/v1/pods/{podId}/restart": { post: podOperation("restartPod", "Restart a pod") },
};

const NOTHING_BILLED = "Always empty: nothing is billed.";

function billingPath(noun: string, name: string, details: string): ZodOpenApiPathsObject {
  const description = {
    id: `list${name}Billing`,
    tag: "Billing",
    summary: `Get the cost of ${noun}`,
    details,
    query: billingQuerySchema,
    answer: z.array(billingRecordSchema),
  };
  return { [`/v1/billing/${noun}`]: { get: restOperation(description, READ) } };
}

export const restPaths: ZodOpenApiPathsObject = {
  ...Object.assign({}, ...NOUNS.map(nounPaths)),
  ...HOST_PATHS,
  ...POD_PATHS,
  ...billingPath(
    "endpoints",
    "Endpoint",
    "Usage at nominal prices; by default for each day of the last week.",
  ),
  ...billingPath("pods", "Pod", NOTHING_BILLED),
  ...billingPath("networkvolumes", "NetworkVolume", NOTHING_BILLED),
};
