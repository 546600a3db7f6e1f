/**
 * The end of a deployment whose client does not report it, as clients that list the resources of an app: it has ended
 * well once each endpoint of the manifest is there with the active build.
 */
import { flashManifestSchema } from "../../contract/flash/flash-manifest.ts";
import { listedEndpoints } from "../../contract/flash/listed-manifest.ts";
import { listEndpointsOfEnvironment } from "../../db/endpoints.ts";
import { findDeployedBuild } from "../../db/flash/deployments.ts";
import {
  endFlashDeploymentIfUnchanged,
  findFlashEnvironment,
  type FlashEnvironmentRecord,
} from "../../db/flash/environments.ts";
import { authorOf, type RequestContext } from "../context.ts";

/** To be called after each step of a deployment; returns the environment if its deployment has ended. */
export async function endListedDeployment(
  context: RequestContext,
  environmentId: string,
): Promise<FlashEnvironmentRecord | undefined> {
  const {
    db,
    principal: { accountId },
  } = context;
  const environment = await findFlashEnvironment(db, accountId, environmentId);
  const buildId = environment?.activeBuildId;
  if (environment?.state !== "DEPLOYING" || !buildId) return undefined;
  const manifest = flashManifestSchema.safeParse((await findDeployedBuild(db, accountId, buildId))?.manifest);
  const names = manifest.success ? listedEndpoints(manifest.data) : undefined;
  if (names === undefined) return undefined;
  const endpoints = await listEndpointsOfEnvironment(db, accountId, environmentId);
  const deployed = new Set(
    endpoints.filter(({ flashBuildId }) => flashBuildId === buildId).map(({ name }) => name),
  );
  if (!names.every((name) => deployed.has(name))) return undefined;
  return await endFlashDeploymentIfUnchanged(db, authorOf(context), environment, "DEPLOYED");
}
