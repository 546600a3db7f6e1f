const deploymentFields = /* GraphQL */ `
  name: String
  imageName: String
  "Instead of imageName and the settings that come with it."
  templateId: String
  "Arguments after the entry point of the image."
  dockerArgs: String
  env: [EnvironmentVariableInput]
  cloudType: CloudTypeEnum
  containerDiskInGb: Int
  volumeKey: String
  volumeMountPath: String
  networkVolumeId: String
  "Comma list of <port>/<protocol>; protocols: http, tcp."
  ports: String
  supportPublicIp: Boolean
  startSsh: Boolean
  startJupyter: Boolean
  containerRegistryAuthId: String
  dataCenterId: String
  "Several, in order of preference."
  dataCenterIds: [String]
  countryCode: String
  minDisk: Int
  minDownload: Int
  minUpload: Int
  stopAfter: DateTime
  terminateAfter: DateTime
  deployCost: Float
`;

const gpuDeploymentFields = /* GraphQL */ `
  computeType: ComputeType
  "A card of gpuTypes."
  gpuTypeId: String
  "Cards in order of preference."
  gpuTypeIdList: [String]
  "1 by default."
  gpuCount: Int
  "CPU sizes such as cpu5c-4-8, instead of a GPU."
  instanceIds: [String]
  minVcpuCount: Int
  minMemoryInGb: Int
  volumeInGb: Int
  port: Port
  globalNetwork: Boolean
  compliance: [Compliance]
  cudaVersion: String
  allowedCudaVersions: [String]
  minCudaVersion: String
`;

export const podSdl = /* GraphQL */ `
  type Query {
    "Null when there is no such pod."
    pod(input: PodFilter): Pod
  }

  type Mutation {
    "Refused with NO_CAPACITY: this installation offers no pods yet."
    podFindAndDeployOnDemand(input: PodFindAndDeployOnDemandInput): Pod
    "Refused with NO_CAPACITY: this installation offers no pods yet."
    podRentInterruptable(input: PodRentInterruptableInput): Pod
    "Refused with NO_CAPACITY: this installation offers no pods yet."
    deployCpuPod(input: deployCpuPodInput): Pod
    "Changes what is sent; what is omitted stays."
    podEditJob(input: PodEditJobInput): Pod
    "Refused with POD_NOT_FOUND, as the operations below: there are no pods yet."
    podStop(input: PodStopInput): Pod
    podResume(input: PodResumeInput): Pod
    podBidResume(input: PodBidResumeInput): Pod
    podTerminate(input: PodTerminateInput): Void
    "Refused with NO_CAPACITY: this installation offers no pods yet."
    createCluster(input: CreateClusterInput): Cluster
    "Refused, since there are no clusters yet."
    deleteCluster(input: DeleteClusterInput): Boolean
  }

  type User {
    "Pods of the account that are not terminated."
    pods: [Pod]
    "Null when there is no such cluster."
    cluster(input: ClusterFilter): Cluster
  }

  "Legacy single port of a pod."
  scalar Port
  enum PodStatus {
    CREATED
    RUNNING
    RESTARTING
    EXITED
    PAUSED
    DEAD
    TERMINATED
  }
  enum PodType {
    INTERRUPTABLE
    RESERVED
    BID
    BACKGROUND
  }
  "ALL means any."
  enum CloudTypeEnum {
    SECURE
    COMMUNITY
    ALL
  }
  enum ComputeType {
    CPU
    GPU
  }

  input PodFilter {
    podId: String
  }
  "A container on a host: a pod, or a worker of an endpoint."
  type Pod {
    id: String!
    name: String!
    podType: PodType
    "What the container should be; runtime shows whether it is up."
    desiredStatus: PodStatus!
    imageName: String
    dockerArgs: String
    dockerId: String
    "What the container runs, by its content. Workers of one release differ while their hosts found a tag to mean different images."
    imageDigest: String
    "Strings of the form KEY=value. Empty for workers of endpoints: values may be secret."
    env: [String]
    gpuCount: Int
    "Null where the host sets no limit."
    vcpuCount: Float
    "Null where the host sets no limit."
    memoryInGb: Float
    containerDiskInGb: Int
    volumeInGb: Float
    volumeMountPath: String
    ports: String
    port: Port
    "Dollars, at the prices of the catalog."
    costPerHr: Float
    version: Int
    templateId: String
    networkVolumeId: String
    containerRegistryAuthId: String
    "The host."
    machineId: String
    machine: PodMachineInfo
    dataCenterId: String
    clusterIp: String
    clusterIdx: Int
    clusterRole: String
    "Null while the container is not up."
    lastStartedAt: String
    "What happened last, and when, for users."
    lastStatusChange: String
    "Since the container started."
    uptimeSeconds: Int
    "Null while the container is not up."
    runtime: PodRuntime
    "Always null: hosts report no load of single containers."
    latestTelemetry: PodTelemetry
  }
  type PodTelemetry {
    state: String
    time: DateTime
  }
  type PodMachineInfo {
    podHostId: String
    "Null for a CPU worker."
    gpuTypeId: String
    gpuDisplayName: String
    "Whether the host only simulates the GPU, as that of npm start does: no such card is there."
    isGpuSimulated: Boolean
    "The country, two letters."
    location: String
  }
  type PodRuntime {
    uptimeInSeconds: Int
    ports: [PodRuntimePorts]
    gpus: [PodRuntimeGpus]
    container: PodRuntimeContainer
  }
  type PodRuntimePorts {
    ip: String
    isIpPublic: Boolean
    privatePort: Int
    publicPort: Int
    "http or tcp."
    type: String
  }
  type PodRuntimeGpus {
    id: String
    gpuUtilPercent: Float
    memoryUtilPercent: Float
  }
  type PodRuntimeContainer {
    cpuPercent: Float
    memoryPercent: Float
  }

  input SavingsPlanInput {
    planLength: String
    upfrontCost: Float
  }
  input PodFindAndDeployOnDemandInput {
    ${deploymentFields}
    ${gpuDeploymentFields}
    "Accepted and ignored, as the fields below."
    savingsPlan: SavingsPlanInput
    aiApiId: String
    ideAiApiId: String
    modelReferences: [String]
  }
  "The on-demand set plus a bid."
  input PodRentInterruptableInput {
    "Dollars per hour and GPU."
    bidPerGpu: Float
    ${deploymentFields}
    ${gpuDeploymentFields}
  }
  input deployCpuPodInput {
    "A CPU size such as cpu5c-4-8."
    instanceId: String
    ${deploymentFields}
  }
  input PodEditJobInput {
    podId: String
    imageName: String
    dockerArgs: String
    env: [EnvironmentVariableInput]
    port: Port
    ports: String
    containerDiskInGb: Int
    volumeInGb: Int
    volumeMountPath: String
    containerRegistryAuthId: String
  }
  input PodStopInput {
    podId: String
  }
  input PodResumeInput {
    podId: String
    gpuCount: Int
    allowedCudaVersions: [String]
  }
  input PodBidResumeInput {
    podId: String
    bidPerGpu: Float
    gpuCount: Int
  }
  input PodTerminateInput {
    podId: String
  }

  enum ClusterType {
    TRAINING
  }
  input ClusterFilter {
    id: String
  }
  input CreateClusterInput {
    clusterName: String
    type: ClusterType
    podCount: Int
    gpuTypeId: String
    gpuCountPerPod: Int
    imageName: String
    templateId: String
    dockerArgs: String
    env: [EnvironmentVariableInput]
    containerDiskInGb: Int
    volumeInGb: Int
    volumeKey: String
    volumeMountPath: String
    networkVolumeId: String
    ports: String
    startSsh: Boolean
    startJupyter: Boolean
    dataCenterId: String
    throughput: Int
    allowedCudaVersions: [String]
    deployCost: Float
  }
  input DeleteClusterInput {
    id: String
  }
  "Pods that are made and removed together."
  type Cluster {
    id: String
    name: String
    type: String
    podCount: Int
    gpuCountPerPod: Int
    pods: [Pod]
  }
`;
