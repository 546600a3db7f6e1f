import { appNotFound, appsNotSupported } from "../../management/flash/absent-apps.ts";

function refuseApp(): never {
  throw appsNotSupported();
}

export const flashResolvers = {
  Query: {
    flashApp: (): null => null,
    flashAppByName: (_parent: unknown, args: { readonly flashAppName?: string | null }): never => {
      throw appNotFound(args.flashAppName ?? "");
    },
    flashEnvironment: (): null => null,
    flashEnvironmentByName: (): null => null,
    flashBuild: (): null => null,
  },
  Mutation: {
    createFlashApp: refuseApp,
    deleteFlashApp: refuseApp,
    createFlashEnvironment: refuseApp,
    deleteFlashEnvironment: refuseApp,
    prepareFlashArtifactUpload: refuseApp,
    finalizeFlashArtifactUpload: refuseApp,
    updateFlashBuildManifest: refuseApp,
    deployBuildToEnvironment: refuseApp,
    finishFlashDeployment: refuseApp,
  },
  User: {
    flashApps: (): readonly never[] => [],
  },
};
