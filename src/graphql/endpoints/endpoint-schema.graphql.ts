export const endpointSdl = /* GraphQL */ `
  type Mutation {
    "No id creates, an id merges into the stored endpoint."
    saveEndpoint(input: EndpointInput): Endpoint
    "Refused with ENDPOINT_HAS_WORKERS until both worker limits are 0."
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
    id: String
    name: String
    "QB (default) or LB; fixed at creation."
    type: String
    "Tiers in order of preference; '-<GPU type name>' excludes a card."
    gpuIds: String
    gpuCount: Int
    "CPU sizes such as cpu5c-4-8; then gpuIds is not sent."
    instanceIds: [String]
    templateId: String
    "Inline template, bound to the endpoint; not together with templateId."
    template: EndpointTemplateInput
    workersMin: Int
    workersMax: Int
    workersPFBTarget: Int
    "Seconds."
    idleTimeout: Int
    "QUEUE_DELAY or REQUEST_COUNT."
    scalerType: String
    scalerValue: Int
    "0 means the default."
    executionTimeoutMs: Int
    "Jobs that may wait at once; a submit beyond them is refused with 429. 1,000,000 by default."
    queueDepthMax: Int
    flashBootType: FlashBootType
    "Comma list of countries or data centers; empty means any."
    locations: String
    networkVolumeId: String
    networkVolumeIds: [NetworkVolumeIdsInput]
    allowedCudaVersions: String
    minCudaVersion: String
    env: [EnvironmentVariableInput]
    flashEnvironmentId: String
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
    name: String
    imageName: String
    containerDiskInGb: Int
    dockerArgs: String
    env: [EnvironmentVariableInput]
    ports: String
    readme: String
    containerRegistryAuthId: String
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
    type: String
    userId: String
    createdAt: DateTime
    "Rises with each rolling release."
    version: Int
    "Always null: use an API key of the account."
    aiKey: String
    gpuIds: String
    gpuCount: Int
    instanceIds: [String]
    "GPU or CPU."
    computeType: String
    templateId: String
    template: PodTemplate
    env: [EnvironmentVariable]
    workersMin: Int
    workersMax: Int
    workersStandby: Int
    workersPFBTarget: Int
    "Seconds."
    idleTimeout: Int
    scalerType: String
    scalerValue: Int
    executionTimeoutMs: Int
    queueDepthMax: Int
    flashBootType: FlashBootType
    locations: String
    networkVolumeId: String
    networkVolumeIds: [NetworkVolumeIds]
    networkVolume: NetworkVolume
    allowedCudaVersions: String
    minCudaVersion: String
    flashEnvironmentId: String
    "Spelled with a lower-case d by the clients."
    activeBuildid: String
    "Always null: there are no development pods."
    idePodId: String
    "Always empty."
    modelReferences: [String]
    compliance: [Compliance]
    "The endpoint's workers, those included that are starting or stopping; the oldest first."
    pods: [Pod]
  }
  type NetworkVolumeIds {
    networkVolumeId: String
    dataCenterId: String
  }
`;
