/** The largest documents that existing clients send, by what they select; see the limits of the management API. */

const ENDPOINT = `aiKey gpuIds id idleTimeout name networkVolumeId locations scalerType scalerValue templateId type
  userId version workersMax workersMin workersStandby gpuCount env { key value } createdAt`;
const FLASH_ENDPOINT = `aiKey gpuIds id idleTimeout locations name networkVolumeId
  networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId scalerType scalerValue templateId type userId
  version workersMax workersMin workersStandby workersPFBTarget gpuCount allowedCudaVersions minCudaVersion
  executionTimeoutMs instanceIds activeBuildid idePodId flashBootType`;
const POD = `id name containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName
  lastStatusChange machineId memoryInGb podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath clusterIp
  containerRegistryAuthId networkVolumeId runtime { uptimeInSeconds ports { ip isIpPublic privatePort publicPort
  PortType: type } gpus { id gpuUtilPercent memoryUtilPercent } container { cpuPercent memoryPercent } }
  machine { podHostId gpuDisplayName location }`;
const TEMPLATE = `id name imageName dockerArgs env { key value } ports portsConfig { port name } volumeMountPath
  volumeInGb containerDiskInGb containerRegistryAuthId startJupyter startSsh startScript isServerless isPublic isRunpod
  readme advancedStart category config`;
const LOWEST_PRICE = `gpuName gpuTypeId minimumBidPrice uninterruptablePrice minMemory minVcpu rentalPercentage
  rentedCount totalCount stockStatus minDownload minDisk minUpload countryCode supportPublicIp compliance maxGpuCount
  maxUnreservedGpuCount availableGpuCounts clusterPrice gpuTypeDatacenters
  gpuTypeCudaVersions { cudaVersion availability }`;
const GPU = `id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud securePrice communityPrice
  clusterPrice oneWeekPrice oneMonthPrice threeMonthPrice sixMonthPrice communitySpotPrice secureSpotPrice maxGpuCount
  maxGpuCountCommunityCloud maxGpuCountSecureCloud minPodGpuCount nodeGroupDatacenters { id }`;

export const SURVEYED_DOCUMENTS: readonly string[] = [
  // The examples of the contract.
  `query { myself { endpoints { gpuIds id idleTimeout locations name networkVolumeId pods { desiredStatus } scalerType
     scalerValue templateId workersMax workersMin } serverlessDiscount { discountFactor type expirationDate } } }`,
  `mutation { saveEndpoint(input: { gpuIds: "AMPERE_16", name: "n", templateId: "t" }) { gpuIds id idleTimeout
     locations name scalerType scalerValue templateId workersMax workersMin flashBootType } }`,
  `mutation { deleteEndpoint(id: "e") }`,
  `mutation { saveTemplate(input: { containerDiskInGb: 5, imageName: "i", name: "n", volumeInGb: 0 })
     { ${TEMPLATE} } }`,
  `mutation { deleteTemplate(templateName: "t") }`,
  `mutation { secretCreate(input: { name: "n", value: "v" }) { id name description } }`,
  `mutation { secretDelete(id: "s") }`,

  // Endpoints
  `query { myself { endpoints { ${ENDPOINT} networkVolume { id dataCenterId } } serverlessDiscount { discountFactor
     type expirationDate userId } } }`,
  `query { myself { endpoints { ${ENDPOINT} networkVolume { id dataCenterId } executionTimeoutMs flashBootType
     allowedCudaVersions minCudaVersion compliance modelReferences
     networkVolumeIds { networkVolumeId dataCenterId } pods { desiredStatus } template { ${TEMPLATE} } } } }`,
  `mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { ${FLASH_ENDPOINT} } }`,
  `mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { ${FLASH_ENDPOINT} computeType modelReferences
     env { key value } } }`,
  `query ($id: String!) { myself { endpoint(id: $id) { id } } }`,
  `mutation ($input: UpdateEndpointTemplateInput) { updateEndpointTemplate(input: $input) { id templateId } }`,

  // Account, templates, secrets, registry credentials, volumes
  `query myself { myself { id pubKey networkVolumes { id name size dataCenterId } } }`,
  `query { myself { id email clientBalance currentSpendPerHr spendLimit notifyPodsStale notifyPodsGeneral
     notifyLowBalance authId } }`,
  `query { myself { podTemplates { ${TEMPLATE} } } }`,
  `query ($id: String!) { podTemplate(id: $id) { ${TEMPLATE} } }`,
  `query { podTemplates(input: { isRunpod: true }) { ${TEMPLATE} } }`,
  `query { myself { secrets { id name description createdAt } containerRegistryCreds { id name } } }`,
  `mutation ($input: SaveRegistryAuthInput) { saveRegistryAuth(input: $input) { id name } }`,
  `query { myself { networkVolumes { id name size dataCenterId storageClusterId storageType
     dataCenter { id name } } } }`,
  `mutation ($input: CreateNetworkVolumeInput!) { createNetworkVolume(input: $input) { id name size dataCenterId } }`,

  // Catalog
  `query { gpuTypes { ${GPU} lowestPrice(input: { gpuCount: 1 }) { ${LOWEST_PRICE} } } }`,
  `query ($input: GpuAvailabilityInput) { dataCenters { id name location listed storageSupport globalNetwork region
     compliance gpuAvailability(input: $input) { gpuTypeId gpuTypeDisplayName displayName available stockStatus
     id } } }`,
  `query ($input: SpecificsInput) { cpuFlavors { id groupId groupName displayName minVcpu maxVcpu vcpuBurstable
     ramMultiplier diskLimitPerVcpu specifics(input: $input) { stockStatus securePrice slsPrice } } }`,
  `query { ${Array.from(
    { length: 10 },
    (_, n) => `g${n}: gpuTypes(input: { id: "g" }) { id displayName
     lowestPrice(input: { gpuCount: ${n + 1} }) { minimumBidPrice uninterruptablePrice stockStatus } }`,
  ).join(" ")} }`,
  `query { countryCodes serverlessGpuPools { id gpuTypeIds } }`,

  // Pods and clusters
  `query { myself { pods { ${POD} } } }`,
  `query pod { pod(input: { podId: "p" }) { ${POD} } }`,
  `mutation ($input: PodFindAndDeployOnDemandInput!) { podFindAndDeployOnDemand(input: $input) { ${POD} } }`,
  `mutation { createCluster(input: { clusterName: "c", type: TRAINING }) { id name pods { ${POD} } } }`,

  // Flash
  `query ($id: String!) { flashApp(flashAppId: $id) { id name flashEnvironments { id name state activeBuildId
     createdAt } flashBuilds { id objectKey createdAt } } }`,
  `query { myself { flashApps { id name flashEnvironments { id name state activeBuildId createdAt }
     flashBuilds { id objectKey createdAt } } } }`,
  `query ($id: String!) { flashEnvironment(flashEnvironmentId: $id) { id name state activeBuildId createdAt
     endpoints { id name } networkVolumes { id name } } }`,
  `mutation ($input: FinalizeFlashArtifactUploadInput!) { finalizeFlashArtifactUpload(input: $input) { id manifest } }`,
];
