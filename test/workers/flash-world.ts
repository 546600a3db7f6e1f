/** Flash apps as rows, for tests of what serves them. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { openDatabase } from "../../src/db/database.ts";
import { randomRowId } from "../../src/db/row-id.ts";
import { endpoint, flashApp, flashBuild, flashEnvironment, type Json } from "../../src/db/schema.ts";

const db = openDatabase(env.DB);

export type FlashWorld = {
  readonly appId: string;
  readonly appName: string;
  readonly environmentId: string;
  readonly environmentName: string;
};

/** An app with one environment, which has no build. */
export async function freshEnvironment(
  accountId: string,
  { appName = `app-${randomRowId()}`, environmentName = "production" } = {},
): Promise<FlashWorld> {
  const appId = randomRowId();
  await db.insert(flashApp).values({ id: appId, accountId, name: appName, createdAt: 1 });
  return { appId, appName, ...(await addEnvironment(accountId, appId, environmentName)) };
}

export async function addEnvironment(accountId: string, appId: string, environmentName: string) {
  const environmentId = randomRowId();
  const names = { id: environmentId, accountId, appId, name: environmentName };
  await db.insert(flashEnvironment).values({ ...names, state: "DEPLOYED", createdAt: 1, updatedAt: 1 });
  return { environmentId, environmentName };
}

/** Makes a session of an environment, which ends then. */
export async function lease(environmentId: string, leaseExpiresAt = Date.now() + 60_000): Promise<void> {
  await db.update(flashEnvironment).set({ leaseExpiresAt }).where(eq(flashEnvironment.id, environmentId));
}

export type StoredBuild = { readonly buildId: string; readonly sha256: string; readonly bytes: Uint8Array };

/** A build of these bytes with this manifest, active in the environment from now on. */
export async function activeBuild(
  accountId: string,
  { appId, environmentId }: FlashWorld,
  manifest: Json,
  bytes: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(1_000)),
): Promise<StoredBuild> {
  const buildId = randomRowId();
  const sha256 = hex(await crypto.subtle.digest("SHA-256", bytes));
  const objectKey = `${accountId}/${appId}/${buildId}`;
  await env.ARTIFACTS.put(objectKey, bytes);
  const values = { id: buildId, accountId, appId, objectKey, sha256, sizeBytes: bytes.byteLength, manifest };
  await db.insert(flashBuild).values({ ...values, createdAt: 1 });
  await db
    .update(flashEnvironment)
    .set({ activeBuildId: buildId })
    .where(eq(flashEnvironment.id, environmentId));
  return { buildId, sha256, bytes };
}

/** Puts an endpoint into an environment, under the name that it has there. */
export async function deployEndpoint(
  endpointId: string,
  { environmentId }: Pick<FlashWorld, "environmentId">,
  name: string,
  buildId: string | null = null,
): Promise<void> {
  await db
    .update(endpoint)
    .set({ flashEnvironmentId: environmentId, flashBuildId: buildId, name })
    .where(eq(endpoint.id, endpointId));
}

function hex(digest: ArrayBuffer): string {
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
