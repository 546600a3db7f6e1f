export const flashSdl = /* GraphQL */ `
  type Query {
    "Null when the app does not exist."
    flashApp(flashAppId: String): FlashApp
    "Fails with APP_NOT_FOUND when there is no app with this name."
    flashAppByName(flashAppName: String): FlashApp
    "By its id, or by the id of an endpoint that belongs to it; null when there is none."
    flashEnvironment(flashEnvironmentId: String): FlashEnvironment
    "Null when there is none of this name."
    flashEnvironmentByName(input: FlashEnvironmentByNameInput): FlashEnvironment
    "Null when the build does not exist."
    flashBuild(flashBuildId: String): FlashBuild
  }

  type Mutation {
    "Refused with APP_NAME_TAKEN when the account has one of this name that lasts."
    createFlashApp(input: CreateFlashAppInput): FlashApp
    "Deletes its environments with their endpoints first, whatever their worker limits, then its builds."
    deleteFlashApp(flashAppId: String): Void
    "Refused with FLASH_ENVIRONMENT_NAME_TAKEN when the app has one of this name."
    createFlashEnvironment(input: CreateFlashEnvironmentInput): FlashEnvironment
    "Moves the end of a session. Refused with FLASH_ENVIRONMENT_NOT_FOUND once it has ended."
    renewFlashEnvironmentLease(input: RenewFlashEnvironmentLeaseInput): FlashEnvironment
    "Deletes its endpoints first, whatever their worker limits."
    deleteFlashEnvironment(flashEnvironmentId: String): Void
    "Gives an address that takes the artifact. Announced with its SHA-256, an artifact continues where it stopped."
    prepareFlashArtifactUpload(input: PrepareFlashArtifactUploadInput): FlashUpload
    "Makes a build of an artifact that was uploaded. The same artifact and manifest give the same build again."
    finalizeFlashArtifactUpload(input: FinalizeFlashArtifactUploadInput): FlashBuild
    "Changes the manifest of a build. One with an address for each resource ends the deployment: DEPLOYED."
    updateFlashBuildManifest(input: UpdateFlashBuildManifestInput): FlashBuild
    "Makes a build the active one of an environment, which is DEPLOYING from then on."
    deployBuildToEnvironment(input: DeployBuildToEnvironmentInput): FlashEnvironment
    "Records how a deployment ended: DEPLOYED or FAILED."
    finishFlashDeployment(input: FinishFlashDeploymentInput): FlashEnvironment
  }

  type User {
    "Apps of the account, oldest first."
    flashApps: [FlashApp]
  }

  type FlashApp {
    id: String
    "Unique in the account."
    name: String
    "It goes with the last of its sessions, unless an environment that lasts was made in it, or a build."
    isForSessions: Boolean
    "Sessions too: those with leaseExpiresAt."
    flashEnvironments: [FlashEnvironment]
    "The newest first; the latest 20 are kept, and all that an environment or an endpoint uses."
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
    "When a session ends with its endpoints unless it is renewed; null for an environment that lasts."
    leaseExpiresAt: DateTime
    "Of a session: with it, its load-balanced workers take code to run. Shown to keys that may write to the management API; null for an environment that lasts."
    liveToken: String
    endpoints: [Endpoint]
    "All that its endpoints have attached."
    networkVolumes: [NetworkVolume]
    "Null until something was deployed."
    activeArtifact: FlashArtifact
  }
  type FlashBuild {
    id: String
    objectKey: String
    "Of its artifact, in hex."
    sha256: String
    sizeBytes: Int
    "What was finalized, or has been set by updateFlashBuildManifest since; without keys of endpoints (aiKey). Shown of 20 builds at most in one document. To the key of an environment resources_endpoints are those of that environment, as they are now."
    manifest: JSON
    "When it was last finalized."
    createdAt: DateTime
  }
  type FlashArtifact {
    objectKey: String
    "Opens the artifact until expiresAt, without a key; null where no ENCRYPTION_KEYS are set."
    downloadUrl: String
    expiresAt: DateTime
  }
  type FlashUpload {
    "Takes the whole artifact by one PUT; or its parts, each by a PUT to <uploadUrl>/parts/<number from 1>. Needs no key. Preparing the same upload again ends an older address. Empty when nothing needs to be sent."
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
    "Letters, digits, - and _, not beginning with - or _."
    name: String
    "True for an app that is to go with the last of its sessions."
    isForSessions: Boolean
  }
  input CreateFlashEnvironmentInput {
    flashAppId: String
    "Letters, digits, - and _, not beginning with - or _."
    name: String
    "Makes a session, which takes no build and ends after so many seconds unless it is renewed: 30 to 3600."
    leaseSeconds: Int
  }
  input RenewFlashEnvironmentLeaseInput {
    flashEnvironmentId: String
    "From now on: 30 to 3600."
    leaseSeconds: Int
  }
  input FlashEnvironmentByNameInput {
    flashAppId: String
    "Of the environment."
    name: String
  }
  input PrepareFlashArtifactUploadInput {
    flashAppId: String
    "Bytes; at most 1,500,000,000."
    tarballSize: Int
    "In hex. With it an upload continues where it stopped, and what the app already has is not sent again."
    tarballSha256: String
  }
  input FinalizeFlashArtifactUploadInput {
    flashAppId: String
    "As it was given when the upload was prepared."
    objectKey: String
    "The build's flash_manifest.json, as an object."
    manifest: JSON
  }
  input UpdateFlashBuildManifestInput {
    flashBuildId: String
    "Takes the place of the one before."
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
