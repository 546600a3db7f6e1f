/** The account that a migration writes to, by the management API. */
import * as z from "zod";
import { operation, type Service } from "../service/service.ts";
import { sshKeyItem } from "./conversion.ts";
import { withoutPending, type Item, type Kind, type Present } from "./plan.ts";

/** Settings are compared, not used, so the document alone says which there are. */
const named = z.looseObject({ id: z.string(), name: z.string() });
const environment = z
  .array(z.object({ key: z.string(), value: z.string() }))
  .transform((env) => Object.fromEntries(env.map(({ key, value }) => [key, value])));

const CONTAINER = "imageName containerDiskInGb dockerArgs ports containerRegistryAuthId env { key value }";

const readAccount = operation(
  `query { myself {
    pubKey
    secrets { id name }
    containerRegistryCreds { id name }
    networkVolumes { id name size dataCenterId }
    podTemplates { id name ${CONTAINER} isServerless isPublic category startSsh startJupyter volumeInGb
      volumeMountPath allowedCudaVersions }
    endpoints { id name type gpuIds gpuCount instanceIds workersMin workersMax idleTimeout scalerType scalerValue
      executionTimeoutMs locations allowedCudaVersions minCudaVersion flashBootType networkVolumeId
      networkVolumeIds { networkVolumeId } flashEnvironmentId env { key value } template { ${CONTAINER} } }
  } }`,
  {
    myself: z.object({
      pubKey: z.string().nullable(),
      secrets: z.array(named),
      containerRegistryCreds: z.array(named),
      networkVolumes: z.array(named),
      podTemplates: z.array(named.extend({ env: environment })),
      endpoints: z.array(
        named.extend({
          flashBootType: z.string().nullable(),
          networkVolumeId: z.string().nullable(),
          networkVolumeIds: z.array(z.object({ networkVolumeId: z.string() })),
          flashEnvironmentId: z.string().nullable(),
          env: environment,
          template: z.looseObject({ env: environment }).nullable(),
        }),
      ),
    }),
  },
);

type PresentEndpoint = z.output<typeof readAccount.schema>["myself"]["endpoints"][number];

/** What the account has of each kind, with settings as items have them; without endpoints of flash apps. */
export async function readTarget(service: Service): Promise<Readonly<Record<Kind, readonly Present[]>>> {
  const { myself } = await service.query(readAccount);
  const toPresent = ({ id, name, ...settings }: z.output<typeof named>): Present => ({ id, name, settings });
  return {
    "ssh-key": (myself.pubKey ?? "").split("\n").flatMap((line) => {
      const item = sshKeyItem(line);
      return item === undefined ? [] : { ...item, id: item.sourceId };
    }),
    secret: myself.secrets.map(toPresent),
    registry: myself.containerRegistryCreds.map(toPresent),
    volume: myself.networkVolumes.map(toPresent),
    // The old service shows a template without category as NVIDIA, as REST does here.
    template: myself.podTemplates.map((one) => toPresent({ ...one, category: one["category"] ?? "NVIDIA" })),
    endpoint: myself.endpoints
      .filter(({ flashEnvironmentId }) => flashEnvironmentId === null)
      .map((endpoint) => toPresent(flattened(endpoint))),
  };
}

/** Its template's settings beside its own, of which its own win. */
function flattened({
  env,
  template,
  networkVolumeId,
  networkVolumeIds,
  flashBootType,
  ...own
}: PresentEndpoint) {
  return {
    ...template,
    ...own,
    flashBootType: flashBootType ?? "OFF",
    networkVolumeIds: networkVolumeId
      ? [networkVolumeId]
      : networkVolumeIds.map((one) => one.networkVolumeId),
    env: { ...template?.env, ...env },
  };
}

/** What the old service does not tell: the value of a secret, or the login of a registry. */
export type Credential =
  | { readonly value: string }
  | { readonly username: string; readonly password: string };

/** The mutation by which an item is created, and the type of its input. */
const CREATIONS = {
  secret: ["SecretCreateInput", "secretCreate"],
  registry: ["SaveRegistryAuthInput", "saveRegistryAuth"],
  volume: ["CreateNetworkVolumeInput", "createNetworkVolume"],
  template: ["SaveTemplateInput", "saveTemplate"],
  endpoint: ["EndpointInput", "saveEndpoint"],
} as const satisfies Record<Exclude<Kind, "ssh-key">, readonly [string, string]>;

const createdSchema = z.object({ created: z.object({ id: z.string() }) });
const checkedSchema = z.object({ created: z.null() });

/** Creates an item whose references are ids of this account, and returns its id. Must not be run twice. */
export async function createItem(service: Service, item: Item, credential?: Credential): Promise<string> {
  if (item.kind === "ssh-key") return await addSshKey(service, item);
  const creation = { document: creationOf(item.kind, "input: $input"), schema: createdSchema };
  return (await service.mutate(creation, { input: inputOf(item, credential) })).created.id;
}

/** Throws the ServiceError that the creation of an item would have; references to what is not there yet are left out. */
export async function checkItem(service: Service, item: Item, credential?: Credential): Promise<void> {
  if (item.kind === "ssh-key") return;
  const check = { document: creationOf(item.kind, "input: $input, dryRun: true"), schema: checkedSchema };
  const input = inputOf(withoutPending(item), credential ?? UNKNOWN_CREDENTIALS[item.kind]);
  await service.mutateIdempotent(check, { input });
}

/** Values that are valid, for those that the person has yet to enter. */
const UNKNOWN_CREDENTIALS: Partial<Record<Kind, Credential>> = {
  secret: { value: "unknown" },
  registry: { username: "unknown", password: "unknown" },
};

function creationOf(kind: keyof typeof CREATIONS, sent: string): string {
  const [inputType, mutation] = CREATIONS[kind];
  return `mutation ($input: ${inputType}) { created: ${mutation}(${sent}) { id } }`;
}

function inputOf(item: Item, credential: Credential | undefined): Readonly<Record<string, unknown>> {
  return { name: item.name, description: item.description, ...credential, ...settingsInput(item) };
}

function settingsInput({ kind, settings }: Item): Readonly<Record<string, unknown>> {
  if (kind !== "template" && kind !== "endpoint") return settings;
  const variables = Object.entries(settings.env ?? {}).map(([key, value]) => ({ key, value }));
  if (kind === "template") return { ...settings, env: variables };
  const {
    imageName,
    containerDiskInGb,
    dockerArgs,
    ports,
    containerRegistryAuthId,
    env: _,
    ...own
  } = settings;
  return {
    ...own,
    networkVolumeIds: settings.networkVolumeIds?.map((networkVolumeId) => ({ networkVolumeId })),
    template: { imageName, containerDiskInGb, dockerArgs, ports, containerRegistryAuthId, env: variables },
  };
}

const readPublicKeys = operation("query { myself { pubKey } }", {
  myself: z.object({ pubKey: z.string().nullable() }),
});

const writePublicKeys = operation(
  "mutation ($input: UpdateUserSettingsInput) { updateUserSettings(input: $input) { id } }",
  { updateUserSettings: z.object({ id: z.string() }) },
);

/** They are one text; a key that has been added meanwhile stays. */
async function addSshKey(service: Service, { sourceId, description }: Item): Promise<string> {
  const { pubKey } = (await service.query(readPublicKeys)).myself;
  const lines = [pubKey ?? "", `${sourceId} ${description}`.trim()].filter((line) => line !== "");
  await service.mutateIdempotent(writePublicKeys, { input: { pubKey: lines.join("\n\n") } });
  return sourceId;
}
