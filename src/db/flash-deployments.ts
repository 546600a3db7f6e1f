/** What of flash apps is deployed where, as far as it takes to serve it. */
import { and, eq } from "drizzle-orm";
import type { Artifact } from "../contract/artifact.ts";
import type { Database } from "./database.ts";
import { flashApp, flashBuild, flashEnvironment, type Json } from "./schema.ts";

export type DeployedEnvironment = {
  readonly environmentId: string;
  readonly environmentName: string;
  readonly appName: string;
};

/** An environment of the account, with the names that its workers are told. */
export async function findDeployedEnvironment(
  db: Database,
  accountId: string,
  environmentId: string,
): Promise<DeployedEnvironment | undefined> {
  return await db
    .select({
      environmentId: flashEnvironment.id,
      environmentName: flashEnvironment.name,
      appName: flashApp.name,
    })
    .from(flashEnvironment)
    .innerJoin(flashApp, eq(flashApp.id, flashEnvironment.appId))
    .where(and(eq(flashEnvironment.accountId, accountId), eq(flashEnvironment.id, environmentId)))
    .get();
}

/** The files of a build of the account, and what they say of themselves. */
export async function findDeployedBuild(
  db: Database,
  accountId: string,
  buildId: string,
): Promise<(Artifact & { readonly manifest: Json }) | undefined> {
  return await db
    .select({ sha256: flashBuild.sha256, sizeBytes: flashBuild.sizeBytes, manifest: flashBuild.manifest })
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), eq(flashBuild.id, buildId)))
    .get();
}

/** Where the files of any build of the account lie that have this SHA-256. */
export async function findStoredArtifact(
  db: Database,
  accountId: string,
  sha256: string,
): Promise<{ readonly objectKey: string; readonly sizeBytes: number } | undefined> {
  return await db
    .select({ objectKey: flashBuild.objectKey, sizeBytes: flashBuild.sizeBytes })
    .from(flashBuild)
    .where(and(eq(flashBuild.accountId, accountId), eq(flashBuild.sha256, sha256)))
    .get();
}
