export const catalogSdl = /* GraphQL */ `
  type Query {
    "GPU cards with their prices and stock. An unknown name gives an empty list."
    gpuTypes(input: GpuTypeFilter): [GpuType]
    "Families of CPU instances."
    cpuFlavors(input: CpuFlavorInput): [CpuFlavor]
    "Places where hosts and network volumes can be."
    dataCenters: [DataCenter]
    "Countries of the listed data centers, two letters each."
    countryCodes: [String]
    "The tiers in which endpoints ask for GPUs."
    serverlessGpuPools: [ServerlessGpuPool]
  }

  input GpuTypeFilter {
    "One card, by its full name."
    id: String
    "Card names, and tier names too; an empty list means all."
    ids: [String]
    "true: cards of hosts on which pods of a cluster reach each other, and what these hosts have of them."
    cluster: Boolean
  }
  type GpuType {
    "The full name, as gpuIds and gpuTypeId take it."
    id: String
    displayName: String
    "Nvidia or AMD."
    manufacturer: String
    memoryInGb: Int
    "Null where the maker counts otherwise."
    cudaCores: Int
    "Always true: hosts belong to the operator of this installation."
    secureCloud: Boolean
    "Always false."
    communityCloud: Boolean
    "Dollars per hour of one GPU, on demand."
    securePrice: Float
    "Null: there are no community hosts."
    communityPrice: Float
    "Dollars per hour of one GPU in a cluster; the same as on demand."
    clusterPrice: Float
    "Dollars per hour of one GPU; the same as on demand."
    secureSpotPrice: Float
    "Null: there are no community hosts."
    communitySpotPrice: Float
    "Null, as the prices below: nothing is let for longer."
    oneWeekPrice: Float
    oneMonthPrice: Float
    threeMonthPrice: Float
    sixMonthPrice: Float
    "GPUs of this card on the largest host that is there; 1 when none is."
    maxGpuCount: Int
    maxGpuCountSecureCloud: Int
    "Always 0."
    maxGpuCountCommunityCloud: Int
    minPodGpuCount: Int
    "Where hosts with this card are on which pods of a cluster reach each other."
    nodeGroupDatacenters: [DataCenter]
    "What is in stock now; never null."
    lowestPrice(input: GpuLowestPriceInput): LowestPrice
  }

  "Narrows the request. Fields without a description are accepted and do not narrow it."
  input GpuLowestPriceInput {
    "GPUs on one host; 1 by default. In a search with cluster: true, at most what the largest host has."
    gpuCount: Int
    "false asks for community hosts, of which there are none."
    secureCloud: Boolean
    "Hosts in this data center only."
    dataCenterId: String
    "Hosts in this country only, two letters."
    countryCode: String
    "vCPUs that must come with the GPUs."
    minVcpuCount: Int
    "GB of memory that must come with the GPUs."
    minMemoryInGb: Int
    "Accepted and ignored, as the fields below: it is not known of the hosts."
    minDisk: Int
    minDownload: Int
    minUpload: Int
    totalDisk: Int
    supportPublicIp: Boolean
    globalNetwork: Boolean
    includeAiApi: Boolean
    cudaVersion: String
    allowedCudaVersions: [String]
    minCudaVersion: String
    compliance: [Compliance]
    "true: hosts on which pods of a cluster reach each other."
    isCluster: Boolean
    "Accepted and ignored, as the fields below."
    podCount: Int
    throughput: Int
    machineProducts: [String]
  }
  type LowestPrice {
    "The display name of the card."
    gpuName: String
    gpuTypeId: String
    "High, Medium, Low, or null when nothing fits."
    stockStatus: String
    "Dollars per hour of one GPU; null when nothing fits."
    uninterruptablePrice: Float
    "The same as uninterruptablePrice."
    minimumBidPrice: Float
    "The same as uninterruptablePrice."
    clusterPrice: Float
    "vCPUs that come with the GPUs at least; null when nothing fits."
    minVcpu: Int
    "GB of memory that come with the GPUs at least; null when nothing fits."
    minMemory: Int
    "Null, as minDownload and minUpload: it is not measured."
    minDisk: Int
    minDownload: Int
    minUpload: Int
    "GPUs on the hosts that are there."
    totalCount: Int
    "Those of them that are in use."
    rentedCount: Int
    "Share in use, from 0 to 1."
    rentalPercentage: Float
    "GPUs on the largest host."
    maxGpuCount: Int
    "Free GPUs on the host that has most of them."
    maxUnreservedGpuCount: Int
    "Numbers of GPUs that can be had at once."
    availableGpuCounts: [Int]
    "The requested country."
    countryCode: String
    supportPublicIp: Boolean
    compliance: [Compliance]
    "Ids of the data centers where it is in stock."
    gpuTypeDatacenters: [String]
    "Empty: hosts do not report it."
    gpuTypeCudaVersions: [GpuTypeCudaVersion]
  }
  type GpuTypeCudaVersion {
    cudaVersion: String
    availability: String
  }
  type ServerlessGpuPool {
    "The name of the tier, as gpuIds takes it."
    id: String
    "Cards that belong to it."
    gpuTypeIds: [String]
  }

  input CpuFlavorInput {
    "One flavor, such as cpu5c."
    id: String
    "Accepted and ignored: all flavors run Serverless workers."
    slsOnly: Boolean
    "Accepted and ignored."
    isSls: Boolean
  }
  input SpecificsInput {
    "Hosts in this data center only; empty means any."
    dataCenterId: String
    "An instance such as cpu5c-4-8; the smallest of the flavor by default."
    instanceId: String
    "Accepted and ignored: all CPU sizes are for endpoints."
    isSls: Boolean
  }
  "A family of CPU instances; an instance is named <flavor>-<vcpu>-<memory in GB>."
  type CpuFlavor {
    id: String
    groupId: String
    groupName: String
    displayName: String
    minVcpu: Float
    maxVcpu: Int
    vcpuBurstable: Boolean
    "GB of memory that come with each vCPU."
    ramMultiplier: Float
    "GB of disk that each vCPU allows."
    diskLimitPerVcpu: Int
    "Price and stock of one instance."
    specifics(input: SpecificsInput): CpuSpecifics
  }
  type CpuSpecifics {
    "High, Medium, Low, or null when no host is large enough."
    stockStatus: String
    "Dollars per hour of a pod."
    securePrice: Float
    "Dollars per hour of a Serverless worker."
    slsPrice: Float
  }

  type DataCenter {
    id: String
    name: String
    "The country."
    location: String
    "NORTH_AMERICA, EUROPE, ASIA or OCEANIA."
    region: String
    "Whether hosts are there."
    listed: Boolean
    "Whether network volumes can be there."
    storageSupport: Boolean
    "Always false: files of network volumes are reached by workers alone."
    s3apiEnabled: Boolean
    globalNetwork: Boolean
    compliance: [Compliance]
    "Stock of every card in this data center."
    gpuAvailability(input: GpuAvailabilityInput): [GpuAvailability]
  }
  "Narrows the request. Fields without a description are accepted and do not narrow it."
  input GpuAvailabilityInput {
    "GPUs on one host; 1 by default."
    gpuCount: Int
    "false asks for community hosts, of which there are none."
    secureCloud: Boolean
    "Accepted and ignored: it is not known of the hosts."
    minDisk: Int
    "GB of memory that must come with the GPUs."
    minMemoryInGb: Int
    "vCPUs that must come with the GPUs."
    minVcpuCount: Int
    "Accepted and ignored, as the fields below."
    allowedCudaVersions: [String]
    minCudaVersion: String
    includeAiApi: Boolean
    machineProducts: [String]
  }
  type GpuAvailability {
    "The card, as gpuTypeId."
    id: String
    gpuTypeId: String
    gpuTypeDisplayName: String
    displayName: String
    available: Boolean
    "High, Medium, Low or null."
    stockStatus: String
  }
`;
