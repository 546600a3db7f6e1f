export const endpointSdl = /* GraphQL */ `
  type Mutation {
    "An id merges into the stored endpoint; without one it creates, unless the flash environment has one of this name."
    saveEndpoint(input: EndpointInput): Endpoint
    "Refused with ENDPOINT_HAS_WORKERS until both worker limits are 0, except for endpoints of a flash environment."
    deleteEndpoint(id: String): Void
    "Gives an endpoint another template; its workers are replaced."
    updateEndpointTemplate(input: UpdateEndpointTemplateInput): Endpoint
  }

  type User {
    "Endpoints of the account, oldest first."
    endpoints: [Endpoint]!
    "Null when the endpoint does not exist."
    endpoint(id: String): Endpoint
  }

  "How workers start: FLASHBOOT and PRIORITY_FLASHBOOT ask for faster cold starts."
  enum FlashBootType {
    OFF
    FLASHBOOT
    PRIORITY_FLASHBOOT
  }

  input EndpointInput {
    "Absent to create, present to change."
    id: String
    "Up to 191 characters; unique in a flash environment alone, where it holds letters, digits, - and _ only."
    name: String
    "QB (default) or LB; fixed at creation."
    type: String
    "Tiers in order of preference; '-<GPU type name>' excludes a card, by its full name."
    gpuIds: String
    "GPUs of one worker; 1 by default."
    gpuCount: Int
    "CPU sizes such as cpu5c-4-8; then gpuIds is not sent."
    instanceIds: [String]
    "A Serverless template of the account."
    templateId: String
    "Inline template, bound to the endpoint; not together with templateId."
    template: EndpointTemplateInput
    "Workers that are always there; 0 by default, which means none without jobs."
    workersMin: Int
    "Workers at most; 3 by default. 0 lets nothing run."
    workersMax: Int
    "Accepted and kept; has no effect."
    workersPFBTarget: Int
    "Seconds that a worker stays without a job: 1 to 3600, 5 by default."
    idleTimeout: Int
    "QUEUE_DELAY, the default of QB, or REQUEST_COUNT, the default of LB, which takes no other: it has no queue."
    scalerType: String
    "QUEUE_DELAY: seconds that a job may wait. REQUEST_COUNT: jobs or requests for each worker. 4 by default."
    scalerValue: Int
    "Milliseconds that a job may run, unless it says otherwise: 5000 to 604800000; 0 means the default, 600000."
    executionTimeoutMs: Int
    "Jobs that may wait at once; a submit beyond them is refused with 429. 1,000,000 by default."
    queueDepthMax: Int
    "FLASHBOOT keeps stopped workers prepared, so that a cold start costs little; another one replaces the workers. Null takes it away."
    flashBootType: FlashBootType
    "Comma list of countries or data centers; empty means any. Hosts that only simulate GPUs, as those of npm start, count as being everywhere unless they say where they are."
    locations: String
    "One volume of the account, or empty for none; takes the place of networkVolumeIds."
    networkVolumeId: String
    "Several volumes, at most one per data center; they take the place of networkVolumeId."
    networkVolumeIds: [NetworkVolumeIdsInput]
    "Comma list such as 12.8,13.0; empty means any."
    allowedCudaVersions: String
    "Such as 12.8; empty means any."
    minCudaVersion: String
    "Variables of this endpoint alone, at most 50; they win over the template's."
    env: [EnvironmentVariableInput]
    "A flash environment of the account, which owns the endpoint from then on; with the name it stands for an id."
    flashEnvironmentId: String
    "Kept and shown; has no effect."
    compliance: [Compliance]
    "Accepted and ignored, as the fields below."
    bindEndpoint: Boolean
    hubReleaseId: String
    modelName: String
    modelReferences: [String]
    repo: JSON
    cloudStorageConfig: JSON
  }
  input EndpointTemplateInput {
    "Made up when absent; one of another inline template takes that one over."
    name: String
    "Image reference with tag (latest when it has none), such as ghcr.io/acme/worker:1.4; not looked up when it is saved."
    imageName: String
    "GB of the container's disk; 50 by default."
    containerDiskInGb: Int
    "Arguments after the entry point of the image."
    dockerArgs: String
    "At most 50 variables; they take the place of those before."
    env: [EnvironmentVariableInput]
    "Comma list of <port>/<protocol>; protocols: http, tcp."
    ports: String
    "Markdown."
    readme: String
    "A registry credential, for a private image; empty for none."
    containerRegistryAuthId: String
    "Kept for pods, as the fields below; workers of endpoints have no use for it."
    startSsh: Boolean
    startJupyter: Boolean
    startScript: String
    advancedStart: Boolean
    config: JSON
  }
  input NetworkVolumeIdsInput {
    networkVolumeId: String
  }

  input UpdateEndpointTemplateInput {
    endpointId: String
    templateId: String
  }

  type Endpoint {
    id: String
    name: String
    "QB or LB."
    type: String
    "The account."
    userId: String
    createdAt: DateTime
    "Rises with each rolling release."
    version: Int
    "Opens the queue API of this endpoint alone. Null for keys that may not write the endpoint or that expire, and where no ENCRYPTION_KEYS are set."
    aiKey: String
    "As it was sent; null for a CPU endpoint."
    gpuIds: String
    "GPUs of one worker; 0 for a CPU endpoint."
    gpuCount: Int
    "CPU sizes; empty for a GPU endpoint."
    instanceIds: [String]
    "GPU or CPU."
    computeType: String
    templateId: String
    template: PodTemplate
    "Variables of this endpoint alone; the template has more."
    env: [EnvironmentVariable]
    workersMin: Int
    workersMax: Int
    "Stopped workers that FLASHBOOT keeps prepared."
    workersStandby: Int
    workersPFBTarget: Int
    "Seconds."
    idleTimeout: Int
    "QUEUE_DELAY or REQUEST_COUNT."
    scalerType: String
    scalerValue: Int
    "For jobs that ask for no other."
    executionTimeoutMs: Int
    "Jobs that may wait at once."
    queueDepthMax: Int
    flashBootType: FlashBootType
    "Comma list of countries and data centers; null means any."
    locations: String
    networkVolumeId: String
    networkVolumeIds: [NetworkVolumeIds]
    "The volume that networkVolumeId names."
    networkVolume: NetworkVolume
    "Comma list; null means any."
    allowedCudaVersions: String
    minCudaVersion: String
    flashEnvironmentId: String
    "The flash build whose files the workers get: that which was active when this version was made."
    activeBuildid: String
    "Always null: there are no development pods."
    idePodId: String
    "Always empty."
    modelReferences: [String]
    compliance: [Compliance]
    "The endpoint's workers, those included that are starting or stopping; the oldest first."
    pods: [Pod]
    "How far a rolling release is; null while all workers are of the endpoint's version."
    rollout: Rollout
  }
  "Workers that are stopping do not count."
  type Rollout {
    inProgress: Boolean!
    "Oldest version that a worker still runs."
    oldestVersion: Int!
    "Ready or not."
    workersOnLatest: Int!
    workersTotal: Int!
    percentOnLatest: Int!
    "What the next new worker waits for, or why it does not come up, as far as it is known."
    reason: String
  }
  type NetworkVolumeIds {
    networkVolumeId: String
    dataCenterId: String
  }
`;
