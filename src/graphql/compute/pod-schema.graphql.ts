import { inputSdl } from "../../management/nouns/field.ts";
import { podCreationFields } from "../../management/nouns/pod.ts";

const deploymentFields = /* GraphQL */ `
  ${inputSdl(podCreationFields)}
  "A Pod template, whose settings the pod gets where the input has none; variables of both."
  templateId: String
  "Accepted: all hosts count as secure."
  cloudType: CloudTypeEnum
  "Another spelling of networkVolumeId and volumeMountPath; at most one volume."
  volumeMounts: [PodVolumeMountInput]
  "Accepted and ignored."
  volumeKey: String
  "With TCP ports: its host must have an address that clients reach."
  supportPublicIp: Boolean
  "One, or several as a comma list."
  dataCenterId: String
  "Several, in order of preference."
  dataCenterIds: [String]
  "Two letters, such as US."
  countryCode: String
  "Accepted and ignored, as the fields below."
  deployCost: Float
  minDisk: Int
  minDownload: Int
  minUpload: Int
`;

const gpuDeploymentFields = /* GraphQL */ `
  "CPU means that instanceIds count and no GPU type."
  computeType: ComputeType
  "A card of gpuTypes."
  gpuTypeId: String
  "Cards in order of preference."
  gpuTypeIdList: [String]
  "1 by default."
  gpuCount: Int
  "CPU sizes such as cpu5c-4-8, instead of a GPU."
  instanceIds: [String]
  "At least, for the whole pod."
  minVcpuCount: Int
  "At least, for the whole pod."
  minMemoryInGb: Int
  "One more of allowedCudaVersions."
  cudaVersion: String
  "Versions that the driver of the host may have; empty means any."
  allowedCudaVersions: [String]
  "Such as 12.8; empty means any."
  minCudaVersion: String
  "Accepted and ignored, as the fields below."
  port: Port
  globalNetwork: Boolean
  compliance: [Compliance]
  savingsPlan: SavingsPlanInput
  aiApiId: String
  ideAiApiId: String
  modelReferences: [String]
`;

export const podSdl = /* GraphQL */ `
  type Query {
    "Null when there is no such pod."
    pod(input: PodFilter): Pod
  }

  type Mutation {
    "Makes a pod that keeps its place. Fails with NO_CAPACITY when no host has what it needs."
    podFindAndDeployOnDemand(input: PodFindAndDeployOnDemandInput): Pod
    "Makes a pod that gives way to reserved pods and to workers of endpoints."
    podRentInterruptable(input: PodRentInterruptableInput): Pod
    "Makes a pod without GPUs."
    deployCpuPod(input: deployCpuPodInput): Pod
    "Changes what is sent, with the fields of a creation; what is omitted stays. The container is replaced where it would be another one. A pod whose place does not have what it needs then gets another one: on its host if its volume is there, and fails with NO_CAPACITY when there is none."
    podEditJob(input: PodEditJobInput): Pod
    "Ends the container and frees its GPUs; the volume stays on its host."
    podStop(input: PodStopInput): Pod
    "Starts a stopped pod; a running one stays as it is."
    podResume(input: PodResumeInput): Pod
    "The same for an interruptible pod, with another bid."
    podBidResume(input: PodBidResumeInput): Pod
    "Ends the pod and removes its volume."
    podTerminate(input: PodTerminateInput): Void
    "Makes pods that are all alike, in one data center: all of them or none. Where its hosts allow it, they reach each other at their clusterIp."
    createCluster(input: CreateClusterInput): Cluster
    "Terminates the pods of a cluster and forgets it."
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

  "There are network volumes only."
  enum PodVolumeType {
    NETWORK_VOLUME
    OBJECT_STORE_VOLUME
  }
  input PodVolumeMountInput {
    volumeId: String
    "NETWORK_VOLUME; others are refused."
    volumeType: PodVolumeType
    "Where the container finds it; volumeMountPath when absent."
    mountPath: String
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
    "What the host lets it use; of a pod without such a limit, the least that it has. Null for a worker without one."
    vcpuCount: Float
    "As vcpuCount."
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
    "The cluster that it is a part of."
    clusterId: String
    "Private address at which the other pods of its cluster reach it, at all ports. Null: they do not."
    clusterIp: String
    "Its number in the cluster, from 0."
    clusterIdx: Int
    "Always null."
    clusterRole: String
    "Null while the container is not up."
    lastStartedAt: String
    "What happened last, and when, for users."
    lastStatusChange: String
    "Since the container started."
    uptimeSeconds: Int
    "Null while the container is not up."
    runtime: PodRuntime
    "When the pod is stopped by itself; null for never, and for a worker."
    stopAfter: DateTime
    "When the pod is terminated by itself; null for never, and for a worker."
    terminateAfter: DateTime
    "Always null; runtime has the load of a pod."
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
  "The fields of a creation. A pod stays on GPUs or on CPUs."
  input PodEditJobInput {
    podId: String
    "Dollars per hour and GPU, of an interruptible pod."
    bidPerGpu: Float
    "A CPU size such as cpu5c-4-8."
    instanceId: String
    ${deploymentFields}
    ${gpuDeploymentFields}
  }
  input PodStopInput {
    podId: String
  }
  input PodResumeInput {
    podId: String
    "Another number of GPUs; absent or 0: as before."
    gpuCount: Int
    "Others in the place of the present ones; absent or empty: as before."
    allowedCudaVersions: [String]
  }
  input PodBidResumeInput {
    podId: String
    "Dollars per hour and GPU; those with the lowest bid give way first."
    bidPerGpu: Float
    "Another number of GPUs; absent or 0: as before."
    gpuCount: Int
  }
  input PodTerminateInput {
    podId: String
  }

  enum ClusterType {
    APPLICATION
    TRAINING
    SLURM
    RAY
  }
  input ClusterFilter {
    id: String
  }
  input CreateClusterInput {
    "Up to 191 characters."
    clusterName: String
    "For users; APPLICATION by default."
    type: ClusterType
    "At most 100."
    podCount: Int
    gpuTypeId: String
    "GPUs of each pod."
    gpuCountPerPod: Int
    ${inputSdl(podCreationFields)}
    "A Pod template, as for a single pod."
    templateId: String
    "The pods are in one data center in any case."
    dataCenterId: String
    "Versions that the driver of the host may have; empty means any."
    allowedCudaVersions: [String]
    "Accepted and ignored, as the fields below."
    volumeKey: String
    throughput: Int
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
