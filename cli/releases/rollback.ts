/** What `flash rollback` does: it deploys the build of an earlier version, which is a rollout like any other. */
import { Failure } from "../../src/std/failure.ts";
import type { Cli } from "../core/cli.ts";
import { ago } from "../core/format.ts";
import { deployBuildToEnvironment } from "../deploy/deploy-build.ts";
import type { WaitSettings } from "../deploy/worker-wait.ts";
import { buildById } from "../service/flash-operations.ts";
import type { Release } from "../service/version-operations.ts";
import {
  onlyEndpoint,
  readVersions,
  requireVersion,
  type VersionedEndpoint,
  type VersionOptions,
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
  if (buildId === null) {
    throw new Failure(`Version v${release.version} has an image of its own, and no build to go back to.`, [
      "Set the image of that version in the app, and deploy it.",
    ]);
  }
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
