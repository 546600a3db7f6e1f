/**
 * What `flash rollback` does: it deploys the build of an earlier version, or gives an endpoint with an image of its own
 * the settings of one. Either is a rollout like any other.
 */
import { Failure } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { deployBuildToEnvironment } from "../deploy/deploy-build.ts";
import { awaitWorkers, type WaitSettings } from "../deploy/worker-wait.ts";
import type { FlashManifest } from "../../src/contract/flash/flash-manifest.ts";
import type { Target } from "../deploy/target.ts";
import { requireNoFailure, workerFailures } from "../deploy/worker-failures.ts";
import { environmentEndpoints } from "../service/endpoint-operations.ts";
import { buildById } from "../service/flash-operations.ts";
import type { Service } from "../service/service.ts";
import { rollbackEndpoint, type Release } from "../service/version-operations.ts";
import {
  onlyEndpoint,
  readVersions,
  requireVersion,
  type VersionedEndpoint,
  type VersionOptions,
  type Versions,
} from "./versions.ts";

export type RollbackOptions = VersionOptions & {
  /** Absent for the last one with another build. */
  readonly version?: number | undefined;
  readonly waiting: WaitSettings;
};

export async function deployEarlierBuild(
  cli: Cli,
  { version, waiting, ...options }: RollbackOptions,
): Promise<void> {
  const startedAt = performance.now();
  const versions = await readVersions(cli, options);
  const { service, target, endpoints } = versions;
  const release =
    version === undefined ? lastOfOtherBuild(endpoints) : requireVersion(onlyEndpoint(versions), version);
  const buildId = release.flashBuildId;
  if (buildId === null) return await restoreSettings(cli, versions, release, waiting);
  const { flashBuild } = await service.query(buildById, { id: buildId });
  if (!flashBuild?.manifest) {
    throw new Failure(`Build ${buildId} is no longer stored.`, ["`flash releases` lists the others."]);
  }
  cli.terminal.say(`Going back to build ${buildId}, deployed ${ago(release.createdAt, Date.now())}.`);
  await deployBuildToEnvironment(cli, service, {
    target,
    buildId,
    manifest: flashBuild.manifest,
    prunes: false,
    warnings: [],
    startedAt,
    waiting,
  });
}

/** An endpoint with an image of its own has no build: the service makes a new version of the earlier settings. */
async function restoreSettings(
  cli: Cli,
  versions: Versions,
  release: Release,
  waiting: WaitSettings,
): Promise<void> {
  const { service, target } = versions;
  const { id, name } = onlyEndpoint(versions);
  const { version } = (await service.mutate(rollbackEndpoint, { endpointId: id, version: release.version }))
    .rollbackEndpoint;
  cli.terminal.say(`Going back to the settings of v${release.version}, as v${version}.`);
  const manifest = await activeManifest(service, target);
  const workers = await awaitWorkers(cli, service, {
    manifest,
    endpoints: [{ id, name, version, action: "updated" }],
    ...waiting,
  });
  const failures = await workerFailures(service, workers);
  cli.terminal.json({ app: target.app.name, environment: target.environment.name, workers, failures });
  requireNoFailure(failures);
}

async function activeManifest(service: Service, { environment }: Target): Promise<FlashManifest> {
  const { flashEnvironment } = await service.query(environmentEndpoints, { id: environment.id });
  const id = flashEnvironment?.activeBuildId ?? null;
  const { flashBuild } = id === null ? { flashBuild: null } : await service.query(buildById, { id });
  if (flashBuild?.manifest) return flashBuild.manifest;
  throw new Failure(`Environment '${environment.name}' was deleted in the meantime.`);
}

/** The newest release of any of these endpoints whose build is not that of their current version. */
function lastOfOtherBuild(endpoints: readonly VersionedEndpoint[]): Release {
  const earlier = endpoints.flatMap(({ releases }) => {
    const current = releases[0]?.flashBuildId ?? null;
    return releases.filter(({ flashBuildId }) => flashBuildId !== null && flashBuildId !== current);
  });
  const [last] = earlier.toSorted((one, other) => Date.parse(other.createdAt) - Date.parse(one.createdAt));
  if (last) return last;
  throw new Failure("There is no earlier version with another build.", [
    "`flash releases` lists the versions; `flash rollback v3` names one.",
  ]);
}
