/** Templates, volumes, registry logins, pods and workers of an account. */
import { text } from "node:stream/consumers";
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { operation } from "../service/service.ts";
import { openEndpoint } from "./endpoints.ts";
import { type ListOptions, showList } from "./list.ts";
import type { Noun, Removal } from "./noun.ts";

const string = z.string();
const noResult = z.null();

const templateSchema = z.object({
  id: string,
  name: string,
  imageName: string,
  isServerless: z.boolean(),
  containerDiskInGb: z.number(),
});
type Template = z.infer<typeof templateSchema>;

const templatesOfAccount = operation(
  "query { myself { podTemplates { id name imageName isServerless containerDiskInGb } } }",
  { myself: z.object({ podTemplates: z.array(templateSchema) }) },
);
const deleteTemplate = operation("mutation ($name: String) { deleteTemplate(templateName: $name) }", {
  deleteTemplate: noResult,
});

export const templates: Noun<Template> & Removal<Template> = {
  one: "template",
  many: "templates",
  rowsOf: async (service) => (await service.query(templatesOfAccount)).myself.podTemplates,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    ID: ({ id }) => id,
    FOR: ({ isServerless }) => (isServerless ? "endpoints" : "pods"),
    IMAGE: ({ imageName }) => imageName,
    DISK: ({ containerDiskInGb }) => `${containerDiskInGb} GB`,
  },
  none: "There are no templates. `edgerun template create NAME --image IMAGE` makes one.",
  question: ({ name }) => `Delete template ${name}?`,
  remove: async (service, { name }) => await service.mutate(deleteTemplate, { name }),
};

const volumeSchema = z.object({ id: string, name: string, size: z.number(), dataCenterId: string });
type Volume = z.infer<typeof volumeSchema>;

const volumesOfAccount = operation("query { myself { networkVolumes { id name size dataCenterId } } }", {
  myself: z.object({ networkVolumes: z.array(volumeSchema) }),
});
const createVolume = operation(
  `mutation ($input: CreateNetworkVolumeInput) {
    createNetworkVolume(input: $input) { id name size dataCenterId }
  }`,
  { createNetworkVolume: volumeSchema },
);
const deleteVolume = operation(
  "mutation ($input: DeleteNetworkVolumeInput) { deleteNetworkVolume(input: $input) }",
  { deleteNetworkVolume: noResult },
);

export const volumes: Noun<Volume> & Removal<Volume> = {
  one: "volume",
  many: "volumes",
  rowsOf: async (service) => (await service.query(volumesOfAccount)).myself.networkVolumes,
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    ID: ({ id }) => id,
    SIZE: ({ size }) => `${size} GB`,
    "DATA CENTER": ({ dataCenterId }) => dataCenterId,
  },
  none: "There are no volumes. `edgerun volume create NAME --size GB` makes one.",
  question: ({ name }) => `Delete volume ${name} with all its files?`,
  remove: async (service, { id }) => await service.mutate(deleteVolume, { input: { id } }),
};

export async function makeVolume(
  cli: Cli,
  name: string,
  { size, dataCenter }: { readonly size: number; readonly dataCenter: string },
): Promise<void> {
  const service = await openService(cli);
  const input = { name, size, dataCenterId: dataCenter };
  const { createNetworkVolume } = await service.mutate(createVolume, { input });
  cli.terminal.json(createNetworkVolume);
  cli.terminal.done(`Made volume ${name} (${createNetworkVolume.id}).`);
}

const registrySchema = z.object({ id: string, name: string });
type Registry = z.infer<typeof registrySchema>;

const registriesOfAccount = operation("query { myself { containerRegistryCreds { id name } } }", {
  myself: z.object({ containerRegistryCreds: z.array(registrySchema) }),
});
const createRegistry = operation(
  "mutation ($input: SaveRegistryAuthInput) { saveRegistryAuth(input: $input) { id name } }",
  { saveRegistryAuth: registrySchema },
);
const deleteRegistry = operation("mutation ($id: String) { deleteRegistryAuth(registryAuthId: $id) }", {
  deleteRegistryAuth: noResult,
});

export const registries: Noun<Registry> & Removal<Registry> = {
  one: "registry",
  many: "registries",
  rowsOf: async (service) => (await service.query(registriesOfAccount)).myself.containerRegistryCreds,
  nameOf: ({ name }) => name,
  columns: { NAME: ({ name }) => name, ID: ({ id }) => id },
  none: "There are no logins of registries. `edgerun registry create NAME --username USER` makes one.",
  question: ({ name }) => `Delete login ${name}? Images that need it can no longer be pulled.`,
  remove: async (service, { id }) => await service.mutate(deleteRegistry, { id }),
};

/** The password is asked for, or is the standard input where nobody can be asked. */
export async function makeRegistry(cli: Cli, name: string, username: string): Promise<void> {
  const service = await openService(cli);
  const asked = await cli.terminal.askSecret(`Password of ${username}`);
  const password = asked ?? (await text(process.stdin)).replace(/\n$/, "");
  if (password === "") throw new Failure("The password is empty.");
  cli.hide?.(password);
  const input = { name, username, password };
  const { saveRegistryAuth } = await service.mutate(createRegistry, { input });
  cli.terminal.json(saveRegistryAuth);
  cli.terminal.done(`Stored login ${name} (${saveRegistryAuth.id}).`);
}

const podSchema = z.object({
  id: string,
  name: string.nullable(),
  desiredStatus: string,
  imageName: string.nullable(),
  gpuCount: z.number().nullable(),
  costPerHr: z.number().nullable(),
  lastStartedAt: string.nullable(),
});
type Pod = z.infer<typeof podSchema>;

const podsOfAccount = operation(
  "query { myself { pods { id name desiredStatus imageName gpuCount costPerHr lastStartedAt } } }",
  { myself: z.object({ pods: z.array(podSchema) }) },
);
const terminatePod = operation("mutation ($id: String!) { podTerminate(input: { podId: $id }) }", {
  podTerminate: noResult,
});

export const pods: Noun<Pod> & Removal<Pod> = {
  one: "pod",
  many: "pods",
  rowsOf: async (service) => (await service.query(podsOfAccount)).myself.pods,
  nameOf: ({ name, id }) => name || id,
  columns: {
    NAME: ({ name }) => name || "-",
    ID: ({ id }) => id,
    STATUS: ({ desiredStatus }) => desiredStatus,
    GPUS: ({ gpuCount }) => String(gpuCount ?? 0),
    IMAGE: ({ imageName }) => imageName ?? "-",
    STARTED: ({ lastStartedAt }, now) => (lastStartedAt === null ? "-" : ago(lastStartedAt, now)),
  },
  none: "There are no pods.",
  past: "Terminated",
  question: (pod) => `End pod ${pods.nameOf(pod)} with all its files?`,
  remove: async (service, { id }) => await service.mutate(terminatePod, { id }),
};

const workersSchema = z.looseObject({
  workers: z.array(z.looseObject({ id: string, status: string, version: z.number() })),
});

/** Workers of an endpoint that have or may get work. */
export async function listWorkers(cli: Cli, nameOrId: string, options: ListOptions): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  await showList(cli, options, {
    read: async () => {
      const document = await service.read(`/v2/serverless/${endpoint.id}/workers`, workersSchema);
      return { rows: document.workers, document };
    },
    columns: {
      ID: ({ id }) => id,
      STATUS: ({ status }) => status,
      VERSION: ({ version }) => `v${version}`,
    },
    none: `Endpoint ${endpoint.name} has no workers now.`,
  });
}
