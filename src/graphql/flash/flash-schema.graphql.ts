export const flashSdl = /* GraphQL */ `
  type Query {
    "Null, as there are no flash apps yet."
    flashApp(flashAppId: String): FlashApp
    "Refused with APP_NOT_FOUND when there is none of this name."
    flashAppByName(flashAppName: String): FlashApp
    "Null, as the fields below: there are no flash apps yet."
    flashEnvironment(flashEnvironmentId: String): FlashEnvironment
    flashEnvironmentByName(input: FlashEnvironmentByNameInput): FlashEnvironment
    flashBuild(flashBuildId: String): FlashBuild
    "Refused with NOT_SUPPORTED: there is no login in the browser yet."
    flashAuthRequestStatus(flashAuthRequestId: String): FlashAuthRequest
  }

  type Mutation {
    "Refused with NOT_SUPPORTED, as the operations below: this installation offers no flash apps yet."
    createFlashApp(input: CreateFlashAppInput): FlashApp
    deleteFlashApp(flashAppId: String): Void
    createFlashEnvironment(input: CreateFlashEnvironmentInput): FlashEnvironment
    deleteFlashEnvironment(flashEnvironmentId: String): Void
    "Gives an address for one PUT of the artifact."
    prepareFlashArtifactUpload(input: PrepareFlashArtifactUploadInput): FlashUpload
    "Makes a build of an artifact that was uploaded."
    finalizeFlashArtifactUpload(input: FinalizeFlashArtifactUploadInput): FlashBuild
    "Changes the manifest of a build."
    updateFlashBuildManifest(input: UpdateFlashBuildManifestInput): FlashBuild
    "Makes a build the active one of an environment."
    deployBuildToEnvironment(input: DeployBuildToEnvironmentInput): FlashEnvironment
    "Refused with NOT_SUPPORTED: there is no login in the browser yet."
    createFlashAuthRequest: FlashAuthRequest
  }

  type User {
    flashApps: [FlashApp]
  }

  type FlashApp {
    id: String
    "Unique in the account."
    name: String
    flashEnvironments: [FlashEnvironment]
    flashBuilds: [FlashBuild]
  }
  type FlashEnvironment {
    id: String
    "Unique in the app."
    name: String
    "deploying, deployed, failed or updating."
    state: String
    activeBuildId: String
    createdAt: DateTime
    endpoints: [Endpoint]
    networkVolumes: [NetworkVolume]
    activeArtifact: FlashArtifact
  }
  type FlashBuild {
    id: String
    objectKey: String
    manifest: JSON
    createdAt: DateTime
  }
  type FlashArtifact {
    objectKey: String
    downloadUrl: String
    expiresAt: DateTime
  }
  type FlashUpload {
    uploadUrl: String
    objectKey: String
    expiresAt: DateTime
  }
  type FlashAuthRequest {
    id: String
    "PENDING, APPROVED, CONSUMED, DENIED or EXPIRED."
    status: String
    expiresAt: DateTime
    "Shown once."
    apiKey: String
  }
  input CreateFlashAppInput {
    name: String
  }
  input CreateFlashEnvironmentInput {
    flashAppId: String
    name: String
  }
  input FlashEnvironmentByNameInput {
    flashAppId: String
    name: String
  }
  input PrepareFlashArtifactUploadInput {
    flashAppId: String
    "Bytes."
    tarballSize: Int
  }
  input FinalizeFlashArtifactUploadInput {
    flashAppId: String
    objectKey: String
    manifest: JSON
  }
  input UpdateFlashBuildManifestInput {
    flashBuildId: String
    manifest: JSON
  }
  input DeployBuildToEnvironmentInput {
    flashEnvironmentId: String
    flashBuildId: String
  }
`;
