/**
 * What only the hosted service has: the Hub, a repository of models, public endpoints. Clients list them beside their
 * own things, so lists are empty; what would change something is refused.
 */
import { ServiceError } from "../../contract/errors.ts";

export const hostedContentSdl = /* GraphQL */ `
  type Query {
    "Repositories of the Hub: always empty, since this installation has no Hub."
    listings(input: ListingsInput): [Listing]
    "Always null."
    listing(id: String): Listing
    "Always null."
    listingFromRepo(repoOwner: String, repoName: String): Listing
    "Always empty: there is no repository of models."
    myModels: [Model]
    "Always null."
    myModel(owner: String, name: String): Model
    "Always empty: there are no public endpoints."
    allAiApiPublicConfigs: [PublicEndpointConfig]
  }

  type Mutation {
    "Refused with NOT_SUPPORTED, as the operations below: there is no repository of models."
    addModelToRepo(input: AddModelToRepoInput): ModelRepoResult
    removeModelFromRepo(input: RemoveModelFromRepoInput): ModelRepoResult
    createModelRepoUpload(input: CreateModelRepoUploadInput): ModelRepoResult
    completeModelRepoUpload(input: CompleteModelRepoUploadInput): ModelRepoResult
  }

  input ListingsInput {
    "Changes nothing, as the fields below: there are no listings."
    searchQuery: String
    category: String
    owner: String
    limit: Int
    offset: Int
    orderBy: String
    orderDirection: String
  }
  type Listing {
    id: String
    repoId: String
    title: String
    repoName: String
    repoOwner: String
    repoOwnerAvatarUrl: String
    description: String
    category: String
    type: String
    tags: [String]
    stars: Int
    views: Int
    deploys: Int
    openIssues: Int
    watchers: Int
    language: String
    createdAt: DateTime
    updatedAt: DateTime
    listedRelease: ListingRelease
  }
  type ListingRelease {
    id: String
    name: String
    tagName: String
    body: String
    readme: String
    branch: String
    license: String
    config: String
    deploys: Int
    iconUrl: String
    authorName: String
    createdAt: DateTime
    releasedAt: DateTime
    updatedAt: DateTime
    build: ListingBuild
    tests: String
  }
  type ListingBuild {
    id: String
    imageName: String
  }

  type Model {
    id: String
    owner: String
    name: String
    provider: String
    status: String
    createdAt: DateTime
    updatedAt: DateTime
    users: [ModelUser]
    versions: [ModelVersion]
  }
  type ModelUser {
    userId: String
    credentialType: String
    credentialReference: String
    status: String
    updatedAt: DateTime
  }
  type ModelVersion {
    uuid: String
    hash: String
    status: String
    metadata: JSON
    createdAt: DateTime
    updatedAt: DateTime
  }
  type ModelRepoResult {
    success: Boolean
    message: String
    model: Model
    version: ModelVersion
    upload: ModelRepoUpload
    sessionId: String
    status: String
  }
  type ModelRepoUpload {
    sessionId: String
    status: String
    uploadId: String
    bucket: String
    key: String
    keyPrefix: String
    partSizeBytes: String
    partCount: Int
    expiresInSeconds: Int
    parts: [ModelRepoUploadPart]
    completeUrl: String
    abortUrl: String
  }
  type ModelRepoUploadPart {
    partNumber: Int
    url: String
    expiresAt: DateTime
  }
  input AddModelToRepoInput {
    "Of a model, as the fields below; refused whatever it is."
    owner: String
    name: String
    provider: String
    credentialType: String
    credentialReference: String
    modelStatus: String
    metadata: JSON
  }
  input RemoveModelFromRepoInput {
    "Of a model, as the fields below; refused whatever it is."
    owner: String
    name: String
  }
  input CreateModelRepoUploadInput {
    "Of a model, as the fields below; refused whatever it is."
    owner: String
    name: String
    modelVersionUuid: String
    fileName: String
    fileSizeBytes: String
    partSizeBytes: String
    contentType: String
    metadata: JSON
    credentialType: String
    credentialReference: String
  }
  input CompleteModelRepoUploadInput {
    "Of a model, as the fields below; refused whatever it is."
    sessionId: String
  }

  type PublicEndpointConfig {
    id: String
    aiApiId: String
    modelName: String
    displayName: String
    description: String
    metadata: String
    isLive: Boolean
    createdAt: DateTime
    updatedAt: DateTime
  }
`;

const none = (): readonly never[] => [];
const unknown = (): null => null;

function refuseModel(): never {
  throw new ServiceError(
    "not_supported",
    "There is no repository of models. Let the code of the worker load its model: from the image, from a network " +
      "volume, or by a name in a variable such as MODEL_NAME.",
  );
}

export const hostedContentResolvers = {
  Query: {
    listings: none,
    listing: unknown,
    listingFromRepo: unknown,
    myModels: none,
    myModel: unknown,
    allAiApiPublicConfigs: none,
  },
  Mutation: {
    addModelToRepo: refuseModel,
    removeModelFromRepo: refuseModel,
    createModelRepoUpload: refuseModel,
    completeModelRepoUpload: refuseModel,
  },
};
