import { endpointFields } from "../../management/nouns/endpoint.ts";
import { inputSdl, typeSdl } from "../../management/nouns/field.ts";
import { inlineTemplateFields } from "../../management/nouns/template.ts";

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
    "Inline template, bound to the endpoint; not together with templateId."
    template: EndpointTemplateInput
    ${inputSdl(endpointFields)}
    "Accepted and ignored, as the fields below."
    bindEndpoint: Boolean
    hubReleaseId: String
    modelName: String
    modelReferences: [String]
    repo: JSON
    cloudStorageConfig: JSON
  }
  input EndpointTemplateInput {
    ${inputSdl(inlineTemplateFields)}
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
    "The account."
    userId: String
    createdAt: DateTime
    "Rises with each rolling release."
    version: Int
    "Opens the queue API of this endpoint alone. Null for keys that may not write the endpoint or that expire, and where no ENCRYPTION_KEYS are set."
    aiKey: String
    "GPU or CPU."
    computeType: String
    template: PodTemplate
    ${typeSdl(endpointFields)}
    "Stopped workers that FLASHBOOT keeps prepared."
    workersStandby: Int
    "The volume that networkVolumeId names."
    networkVolume: NetworkVolume
    "The flash build whose files the workers get: the one that was active when this version was made."
    activeBuildid: String
    "Always null: there are no development pods."
    idePodId: String
    "Always empty."
    modelReferences: [String]
    "The endpoint's workers, including those that are starting or stopping; the oldest first."
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
