/**
 * The operations with which accounts try to reach into each other; a new noun is added here.
 *
 * An entry whose GraphQL field or route does not exist is left out. One whose field exists must fit the schema.
 */

/** Of the hosts of `Tenant`. */
const CARD = "NVIDIA RTX A4000";

export type Noun =
  | "template"
  | "endpoint"
  | "job"
  | "batch"
  | "secret"
  | "registry"
  | "volume"
  | "pod"
  | "cluster"
  | "host"
  | "key"
  | "app"
  | "environment";

/** Something that is named in a call: by its id, or by its name. */
export type Taken = { readonly noun: Noun; readonly by: "id" | "name" };

export type Call =
  | { readonly kind: "graphql"; readonly document: string }
  | { readonly kind: "http"; readonly method: string; readonly path: string; readonly body?: unknown };

export type Operation = {
  readonly name: string;
  readonly takes: readonly Taken[];
  /** The answer's first id is that of a new thing of this noun, named by the mark. */
  readonly makes?: Noun;
  /** What it takes first is gone when it succeeds. */
  readonly removes?: boolean;
  /** Would wait for a worker on things of one's own. */
  readonly waits?: boolean;
  /** `mark` is a text that nothing else holds. */
  readonly call: (ids: readonly string[], mark: string) => Call;
};

const id = (noun: Noun): Taken => ({ noun, by: "id" });
const name = (noun: Noun): Taken => ({ noun, by: "name" });

function graphql(
  operation: Omit<Operation, "call" | "name">,
  document: (ids: readonly string[], mark: string) => string,
): Operation {
  return {
    ...operation,
    name: document(
      operation.takes.map(({ noun }) => noun),
      "mark",
    ).replaceAll(/\s+/g, " "),
    call: (ids, mark) => ({ kind: "graphql", document: document(ids, mark) }),
  };
}

function http(
  method: string,
  pattern: string,
  operation: Omit<Operation, "call" | "name">,
  body?: (mark: string, ids: readonly string[]) => unknown,
): Operation {
  return {
    ...operation,
    name: `${method} ${pattern}`,
    call: (ids, mark) => {
      const rest = [...ids];
      const path = pattern.replaceAll("*", () => rest.shift() ?? "");
      return { kind: "http", method, path, ...(body && { body: body(mark, ids) }) };
    },
  };
}

const TEMPLATES = [
  graphql(
    { takes: [], makes: "template" },
    (
      _,
      mark,
    ) => `mutation { saveTemplate(input: { name: "${mark}", imageName: "${mark}", containerDiskInGb: 5,
      volumeInGb: 0, isServerless: true, env: [{ key: "K", value: "${mark}" }] }) { id name } }`,
  ),
  graphql(
    { takes: [id("template")] },
    ([template], mark) =>
      `mutation { saveTemplate(input: { id: "${template}", readme: "${mark}" }) { id readme } }`,
  ),
  graphql(
    { takes: [id("template")] },
    ([template]) => `{ podTemplate(id: "${template}") { id name env { value } } }`,
  ),
  graphql(
    { takes: [name("template")], removes: true },
    ([template]) => `mutation { deleteTemplate(templateName: "${template}") }`,
  ),
];

const ENDPOINTS = [
  graphql(
    { takes: [id("template")], makes: "endpoint" },
    ([template], mark) => `mutation { saveEndpoint(input: { name: "${mark}", gpuIds: "AMPERE_16",
      templateId: "${template}", workersMax: 0, env: [{ key: "K", value: "${mark}" }] }) { id name } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint], mark) => `mutation { saveEndpoint(input: { id: "${endpoint}", name: "${mark}" })
      { id name template { name } pods { id } } }`,
  ),
  graphql(
    { takes: [id("endpoint"), id("template")] },
    ([
      endpoint,
      template,
    ]) => `mutation { saveEndpoint(input: { id: "${endpoint}", templateId: "${template}" })
      { id template { name } } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    (
      [endpoint],
      mark,
    ) => `mutation { saveEndpoint(input: { id: "${endpoint}", template: { imageName: "${mark}" } })
      { id } }`,
  ),
  graphql(
    { takes: [id("endpoint"), id("template")] },
    ([endpoint, template]) => `mutation { updateEndpointTemplate(input: { endpointId: "${endpoint}",
      templateId: "${template}" }) { id templateId } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) =>
      `mutation { rollbackEndpoint(input: { endpointId: "${endpoint}", version: 1 }) { id version } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) =>
      `{ myself { endpoint(id: "${endpoint}") { id name env { value } template { name } pods { id } } } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) => `{ myself { usage(input: { endpointId: "${endpoint}" }) { endpointId completed }
      endpoint(id: "${endpoint}") { id metrics(window: LAST_HOUR) { requests workers } } } }`,
  ),
  http("GET", "/lb/*/path", { takes: [id("endpoint")] }),
  http("POST", "/lb/*", { takes: [id("endpoint")] }, (mark) => ({ name: mark })),
  http("GET", "/v2/*/metrics/requests", { takes: [id("endpoint")] }),
  http("GET", "/v2/*/metrics/workers?window=5m", { takes: [id("endpoint")] }),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) =>
      `mutation { budgetSave(input: { endpointId: "${endpoint}", limit: 1000 }) { endpointId spent } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) => `mutation { budgetReset(input: { endpointId: "${endpoint}" }) { endpointId spent } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) => `mutation { budgetRemove(input: { endpointId: "${endpoint}" }) }`,
  ),
  graphql(
    { takes: [id("endpoint")], removes: true },
    ([endpoint]) => `mutation { deleteEndpoint(id: "${endpoint}") }`,
  ),
];

const ACCOUNT = [
  graphql({ takes: [] }, (_, mark) => `mutation { joinTokenCreate(input: { name: "${mark}" }) { token } }`),
  graphql({ takes: [] }, () => "{ myself { joinTokens { id name } } }"),
  graphql({ takes: [] }, () => "mutation { createSignInLink { url } }"),
  graphql({ takes: [] }, () => "{ signIns { id apiKeyId client } }"),
  http("GET", "/v1/hosts", { takes: [] }),
  graphql({ takes: [] }, () => "{ myself { budgets { endpointId spent } } }"),
  http("GET", "/v1/budgets", { takes: [] }),
  graphql({ takes: [] }, () => "mutation { webhookSecretRotate { secret } }"),
  graphql(
    { takes: [] },
    (_, mark) => `mutation { updateUserSettings(input: { pubKey: "${mark}" }) { id pubKey } }`,
  ),
  graphql({ takes: [id("key")], removes: true }, ([key]) => `mutation { revokeApiKey(id: "${key}") }`),
];

const HOST = { takes: [id("host")] };
const HOSTS = [
  graphql(
    HOST,
    ([host]) => `mutation { hostUpdate(input: { id: "${host}", cordoned: true }) { id cordoned } }`,
  ),
  graphql({ ...HOST, removes: true }, ([host]) => `mutation { hostRemove(input: { id: "${host}" }) }`),
  http("GET", "/v1/hosts/*", HOST),
  http("PATCH", "/v1/hosts/*", HOST, () => ({ drained: true })),
  http("DELETE", "/v1/hosts/*", { ...HOST, removes: true }),
];

const SECRETS = [
  graphql(
    { takes: [], makes: "secret" },
    (_, mark) => `mutation { secretCreate(input: { name: "${mark}", value: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("secret")] },
    ([secret], mark) =>
      `mutation { secretValueUpdate(input: { id: "${secret}", value: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("secret")] },
    (
      [secret],
      mark,
    ) => `mutation { secretDescriptionUpdate(input: { id: "${secret}", description: "${mark}" })
      { id description } }`,
  ),
  graphql(
    { takes: [id("secret")], removes: true },
    ([secret]) => `mutation { secretDelete(id: "${secret}") }`,
  ),
  graphql(
    { takes: [], makes: "registry" },
    (
      _,
      mark,
    ) => `mutation { saveRegistryAuth(input: { name: "${mark}", username: "${mark}", password: "${mark}" })
      { id name } }`,
  ),
  graphql(
    { takes: [id("registry")] },
    ([registry], mark) => `mutation { updateRegistryAuth(input: { id: "${registry}", username: "${mark}",
      password: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("registry")], removes: true },
    ([registry]) => `mutation { deleteRegistryAuth(registryAuthId: "${registry}") }`,
  ),
];

const VOLUMES = [
  graphql(
    { takes: [], makes: "volume" },
    (
      _,
      mark,
    ) => `mutation { createNetworkVolume(input: { name: "${mark}", size: 10, dataCenterId: "EU-RO-1" })
      { id name } }`,
  ),
  graphql(
    { takes: [id("volume")] },
    ([volume], mark) =>
      `mutation { updateNetworkVolume(input: { id: "${volume}", name: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("volume")], removes: true },
    ([volume]) => `mutation { deleteNetworkVolume(input: { id: "${volume}" }) }`,
  ),
];

const POD = { takes: [id("pod")] };
const PODS = [
  graphql(
    { takes: [], makes: "pod" },
    (_, mark) => `mutation { deployCpuPod(input: { name: "${mark}", imageName: "a:1", ports: "80/http",
      env: [{ key: "K", value: "${mark}" }] }) { id name } }`,
  ),
  graphql(POD, ([pod]) => `{ pod(input: { podId: "${pod}" }) { id name env lastStatusChange machineId } }`),
  graphql(
    POD,
    ([pod], mark) =>
      `mutation { podEditJob(input: { podId: "${pod}", name: "${mark}", dockerArgs: "${mark}" }) { id name } }`,
  ),
  graphql(POD, ([pod]) => `mutation { podStop(input: { podId: "${pod}" }) { id desiredStatus } }`),
  graphql(POD, ([pod]) => `mutation { podBidResume(input: { podId: "${pod}", bidPerGpu: 1 }) { id } }`),
  http("POST", "/v1/pods", { takes: [id("template")] }, (mark, [templateId]) => ({
    ...{ name: mark, computeType: "CPU", templateId },
  })),
  http("POST", "/v1/pods/*/restart", POD),
  http("POST", "/v2/pods/*/action", POD, () => ({ action: "stop" })),
  http("GET", "/v1/pod/*/logs", POD),
  http("GET", "/v2/pods/*/logs", { ...POD, waits: true }),
  http("GET", "/v1/billing/pods?podId=*", POD),
  http("POST", "/v2/clusters", { takes: [], makes: "cluster" }, (mark) => ({
    ...{ name: mark, type: "TRAINING", image: "a:1" },
    compute: { gpuTypeId: CARD, gpuCountPerPod: 1, podCount: 2 },
  })),
  http("GET", "/v2/clusters/*/pods", { takes: [id("cluster")] }),
];

const FLASH = [
  graphql(
    { takes: [], makes: "app" },
    (_, mark) => `mutation { createFlashApp(input: { name: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("app")], makes: "environment" },
    ([app], mark) =>
      `mutation { createFlashEnvironment(input: { flashAppId: "${app}", name: "${mark}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("app")], makes: "environment" },
    ([app], mark) => `mutation { createFlashEnvironment(input: { flashAppId: "${app}", name: "${mark}",
      leaseSeconds: 3600 }) { id name leaseExpiresAt liveToken } }`,
  ),
  graphql(
    { takes: [id("environment")] },
    ([environment]) => `mutation { renewFlashEnvironmentLease(input: { flashEnvironmentId: "${environment}",
      leaseSeconds: 3600 }) { id name liveToken } }`,
  ),
  graphql(
    { takes: [id("environment"), id("template")] },
    ([environment, template], mark) => `mutation { saveEndpoint(input: { name: "${mark}", gpuIds: "AMPERE_16",
      templateId: "${template}", workersMax: 0, flashEnvironmentId: "${environment}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("endpoint"), id("environment")] },
    ([endpoint, environment]) => `mutation { saveEndpoint(input: { id: "${endpoint}",
      flashEnvironmentId: "${environment}" }) { id flashEnvironmentId activeBuildid } }`,
  ),
  graphql(
    { takes: [id("app")] },
    ([app]) => `{ flashApp(flashAppId: "${app}") { id name flashEnvironments { id name endpoints { id } }
      flashBuilds { id objectKey manifest } } }`,
  ),
  graphql({ takes: [name("app")] }, ([app]) => `{ flashAppByName(flashAppName: "${app}") { id name } }`),
  graphql(
    { takes: [id("environment")] },
    ([environment]) => `{ flashEnvironment(flashEnvironmentId: "${environment}") { id name
      endpoints { id name } activeArtifact { objectKey } } }`,
  ),
  graphql(
    { takes: [id("endpoint")] },
    ([endpoint]) => `{ flashEnvironment(flashEnvironmentId: "${endpoint}") { id name } }`,
  ),
  graphql(
    { takes: [id("app"), name("environment")] },
    ([app, environment]) => `{ flashEnvironmentByName(input: { flashAppId: "${app}",
      name: "${environment}" }) { id name } }`,
  ),
  graphql(
    { takes: [id("app")] },
    ([app]) => `mutation { prepareFlashArtifactUpload(input: { flashAppId: "${app}", tarballSize: 10 })
      { objectKey partBytes } }`,
  ),
  graphql(
    { takes: [id("app")] },
    ([app], mark) => `mutation { finalizeFlashArtifactUpload(input: { flashAppId: "${app}",
      objectKey: "${mark}", manifest: { resources: {} } }) { id } }`,
  ),
  graphql(
    { takes: [id("environment")] },
    ([environment]) => `mutation { deployBuildToEnvironment(input: { flashEnvironmentId: "${environment}",
      flashBuildId: "none" }) { id } }`,
  ),
  graphql(
    { takes: [id("environment")] },
    ([environment]) => `mutation { finishFlashDeployment(input: { flashEnvironmentId: "${environment}",
      state: "FAILED" }) { id } }`,
  ),
  graphql(
    { takes: [id("environment")], removes: true },
    ([environment]) => `mutation { deleteFlashEnvironment(flashEnvironmentId: "${environment}") }`,
  ),
  graphql(
    { takes: [id("app")], removes: true },
    ([app]) => `mutation { deleteFlashApp(flashAppId: "${app}") }`,
  ),
];

const ENDPOINT = { takes: [id("endpoint")] };
const JOB = { takes: [id("endpoint"), id("job")] };
const BATCH = { takes: [id("endpoint"), id("batch")] };
const input = (mark: string) => ({ input: { text: mark } });
const requests = (mark: string) => ({ requests: [input(mark)] });

const QUEUE = [
  http("POST", "/v2/*/run", { ...ENDPOINT, makes: "job" }, input),
  http("POST", "/v2/*/runsync?wait=1000", { ...ENDPOINT, waits: true }, input),
  http("POST", "/v2/*/openai/v1/chat/completions", { ...ENDPOINT, waits: true }, (mark) => ({
    prompt: mark,
  })),
  http("GET", "/v2/*/openai/v1/models", { ...ENDPOINT, waits: true }),
  http("GET", "/v2/*/health", ENDPOINT),
  http("GET", "/v2/*/metrics", ENDPOINT),
  http("GET", "/v2/*/requests", ENDPOINT),
  http("GET", "/v2/*/logs", ENDPOINT),
  http("POST", "/v2/*/purge-queue", ENDPOINT),
  http("POST", "/v2/*/trial", ENDPOINT),
  http("DELETE", "/v2/*/trial", ENDPOINT),
  http("GET", "/v2/*/status/*", JOB),
  http("GET", "/v2/*/status-sync/*?wait=1000", { ...JOB, waits: true }),
  http("GET", "/v2/*/stream/*", { ...JOB, waits: true }),
  http("POST", "/v2/*/cancel/*", JOB),
  http("POST", "/v2/*/retry/*", JOB),
  http("GET", "/v2/*/webhooks/*", JOB),
  http("POST", "/v2/*/webhooks/*/redeliver", JOB),
  http("POST", "/v2/*/batch", { ...ENDPOINT, makes: "batch" }, requests),
  http("GET", "/v2/*/batch", ENDPOINT),
  http("GET", "/v2/*/batch/*", BATCH),
  http("PUT", "/v2/*/batch/*", BATCH, (mark) => ({ name: mark })),
  http("POST", "/v2/*/batch/*/requests", BATCH, requests),
  http("GET", "/v2/*/batch/*/requests", BATCH),
  http("POST", "/v2/*/batch/*/finalize", BATCH),
  http("POST", "/v2/*/batch/*/cancel", BATCH),
];

const REST = (
  [
    ["/v1/endpoints", "endpoint"],
    ["/v1/templates", "template"],
    ["/v1/networkvolumes", "volume"],
    ["/v1/containerregistryauth", "registry"],
    ["/v1/pods", "pod"],
    ["/v2/pods", "pod"],
    ["/v2/clusters", "cluster"],
    ["/v2/serverless", "endpoint"],
    ["/v2/templates", "template"],
    ["/v2/network-volumes", "volume"],
    ["/v2/registries", "registry"],
  ] as const
).flatMap(([path, noun]) => [
  http("GET", path, { takes: [] }),
  http("GET", `${path}/*`, { takes: [id(noun)] }),
  http("DELETE", `${path}/*`, { takes: [id(noun)], removes: true }),
  ...(noun === "registry"
    ? []
    : [http("PATCH", `${path}/*`, { takes: [id(noun)] }, (mark) => ({ name: mark }))]),
]);

const endpointV2 = (mark: string) => ({
  ...{ name: mark, type: "QUEUE", gpu: { pools: ["AMPERE_16"] }, workers: { max: 0 } },
  scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
});

const REST_V2 = [
  http("POST", "/v2/serverless", { takes: [id("template")], makes: "endpoint" }, (mark, [templateId]) => ({
    ...endpointV2(mark),
    templateId,
  })),
  http("POST", "/v2/serverless", { takes: [id("volume"), id("registry")] }, (mark, [volume, registry]) => ({
    ...endpointV2(mark),
    ...{ image: "w:1", networkVolumes: [volume], registry },
  })),
  http("PATCH", "/v2/serverless/*", { takes: [id("endpoint"), id("template")] }, (_, [, templateId]) => ({
    templateId,
  })),
  http("GET", "/v2/serverless/*/workers", ENDPOINT),
  http("GET", "/v2/serverless/*/releases", ENDPOINT),
  http("POST", "/v2/serverless/*/rollback", ENDPOINT, () => ({ version: 1 })),
  http("GET", "/v2/catalog/templates?source=community", { takes: [] }),
  http("GET", "/v2/account/ssh-keys", { takes: [] }),
  http("GET", "/v2/billing/serverless", { takes: [] }),
];

export const OPERATIONS: readonly Operation[] = [
  ...TEMPLATES,
  ...ENDPOINTS,
  ...ACCOUNT,
  ...HOSTS,
  ...SECRETS,
  ...VOLUMES,
  ...PODS,
  ...FLASH,
  ...QUEUE,
  ...REST,
  ...REST_V2,
];
