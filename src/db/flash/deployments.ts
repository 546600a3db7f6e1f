/** Which builds of flash apps are deployed where: what serving them needs to know. */
import { and, desc, eq, gt, isNotNull, isNull, or } from "drizzle-orm";
import type { Artifact } from "../../contract/agent/artifact.ts";
import { LIVE_PREFIX } from "../../contract/flash/flash-live.ts";
import { isOneOf, type Database, isOwn } from "../database.ts";
import { endpoint, flashApp, flashBuild, flashEnvironment, type Json } from "../schema.ts";

export type DeployedEnvironment = {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly appName: string;
  /** It is a session. */
  readonly isLive: boolean;
};

/** An environment of the account, with the names that its workers receive. */
export async function findDeployedEnvironment(
  db: Database,
  accountId: string,
  environmentId: string,
): Promise<DeployedEnvironment | undefined> {
  const found = await db
    .select({
      environmentId: flashEnvironment.id,
      environmentName: flashEnvironment.name,
      appName: flashApp.name,
      leaseExpiresAt: flashEnvironment.leaseExpiresAt,
    })
    .from(flashEnvironment)
    .innerJoin(flashApp, eq(flashApp.id, flashEnvironment.appId))
    .where(isOwn(flashEnvironment, accountId, environmentId))
    .get();
  if (found === undefined) return undefined;
  const { leaseExpiresAt, ...environment } = found;
  return { ...environment, isLive: leaseExpiresAt !== null };
}

/** The artifact of a build of the account, and its manifest. */
export async function findDeployedBuild(
  db: Database,
  accountId: string,
  buildId: string,
): Promise<(Artifact & { readonly manifest: Json }) | undefined> {
  return await db
    .select({ sha256: flashBuild.sha256, sizeBytes: flashBuild.sizeBytes, manifest: flashBuild.manifest })
    .from(flashBuild)
    .where(isOwn(flashBuild, accountId, buildId))
    .get();
}

/** Where the artifact with this SHA-256 is stored, of any build of an app that one of the endpoints belongs to. */
export async function findStoredArtifact(
  db: Database,
  accountId: string,
  endpointIds: readonly string[],
  sha256: string,
): Promise<{ readonly objectKey: string; readonly sizeBytes: number } | undefined> {
  return await db
    .select({ objectKey: flashBuild.objectKey, sizeBytes: flashBuild.sizeBytes })
    .from(flashBuild)
    .innerJoin(flashEnvironment, eq(flashEnvironment.appId, flashBuild.appId))
    .innerJoin(endpoint, eq(endpoint.flashEnvironmentId, flashEnvironment.id))
    .where(
      and(
        eq(flashBuild.accountId, accountId),
        eq(flashBuild.sha256, sha256),
        isOneOf(endpoint.id, endpointIds),
      ),
    )
    .limit(1)
    .get();
}

/** The account of an environment of any account; undefined for a session whose lease has lapsed. */
export async function findEnvironmentAccount(
  db: Database,
  environmentId: string,
  now: number,
): Promise<string | undefined> {
  const { id, leaseExpiresAt } = flashEnvironment;
  const found = await db
    .select({ accountId: flashEnvironment.accountId })
    .from(flashEnvironment)
    .where(and(eq(id, environmentId), or(isNull(leaseExpiresAt), gt(leaseExpiresAt, now))))
    .get();
  return found?.accountId;
}

/** The names by which the code of an app calls an endpoint. */
export type QualifiedEndpointName = {
  readonly app: string;
  readonly environment: string;
  readonly endpoint: string;
};

/** The environment of an address, and its endpoint if it has one of that name; in a session a live one serves too. */
export async function findEndpointByQualifiedName(
  db: Database,
  accountId: string,
  qualifiedName: QualifiedEndpointName,
): Promise<{ readonly environmentId: string; readonly endpointId: string | null } | undefined> {
  const isNamed = eq(endpoint.name, qualifiedName.endpoint);
  const isLive = and(
    isNotNull(flashEnvironment.leaseExpiresAt),
    eq(endpoint.name, LIVE_PREFIX + qualifiedName.endpoint),
  );
  return await db
    .select({ environmentId: flashEnvironment.id, endpointId: endpoint.id })
    .from(flashApp)
    .innerJoin(flashEnvironment, eq(flashEnvironment.appId, flashApp.id))
    .leftJoin(
      endpoint,
      and(
        eq(endpoint.accountId, accountId),
        eq(endpoint.flashEnvironmentId, flashEnvironment.id),
        or(isNamed, isLive),
      ),
    )
    .where(
      and(
        eq(flashApp.accountId, accountId),
        eq(flashApp.name, qualifiedName.app),
        eq(flashEnvironment.name, qualifiedName.environment),
      ),
    )
    .orderBy(desc(isNamed))
    .limit(1)
    .get();
}

/** Whether a build is what an environment runs: it is active there, or an endpoint of it is pinned to it. */
export async function isBuildOfEnvironment(
  db: Database,
  environmentId: string,
  buildId: string,
): Promise<boolean> {
  const isActive = db
    .select({ id: flashEnvironment.id })
    .from(flashEnvironment)
    .where(and(eq(flashEnvironment.id, environmentId), eq(flashEnvironment.activeBuildId, buildId)));
  const isPinned = db
    .select({ id: endpoint.id })
    .from(endpoint)
    .where(and(eq(endpoint.flashEnvironmentId, environmentId), eq(endpoint.flashBuildId, buildId)));
  return (await isActive.unionAll(isPinned).limit(1)).length > 0;
}
