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
    "Makes a build the active one of an environment, which is DEPLOYING from then on."
    deployBuildToEnvironment(input: DeployBuildToEnvironmentInput): FlashEnvironment
    "Says how a deployment ended: DEPLOYED or FAILED."
    finishFlashDeployment(input: FinishFlashDeploymentInput): FlashEnvironment
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
    "PENDING, DEPLOYING, DEPLOYED, FAILED or DELETING."
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
    "Of its artifact, in hex."
    sha256: String
    sizeBytes: Int
    manifest: JSON
    createdAt: DateTime
  }
  type FlashArtifact {
    objectKey: String
    downloadUrl: String
    expiresAt: DateTime
  }
  type FlashUpload {
    "Takes the whole artifact by one PUT; or its parts, each by a PUT to <uploadUrl>/parts/<number from 1>. Needs no key."
    uploadUrl: String
    objectKey: String
    expiresAt: DateTime
    "The app has an artifact of this SHA-256: nothing needs to be sent."
    isUploaded: Boolean
    "Bytes of each part but the last."
    partBytes: Int
    "Numbers of the parts that have come before, of an artifact that was announced with its SHA-256."
    partsUploaded: [Int]
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
    "In hex. With it an upload goes on where it stopped, and what the app has is not sent again."
    tarballSha256: String
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
  input FinishFlashDeploymentInput {
    flashEnvironmentId: String
    "DEPLOYED or FAILED."
    state: String
  }
`;
