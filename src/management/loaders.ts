/**
 * What the resolvers of one request load: each row once, rows of one kind together.
 *
 * L1  A query costs as many reads of D1 for fifty endpoints, or fifty aliases, as for one.
 * L2  Fleet is called once for the workers of all endpoints.
 * L3  After a mutation everything is loaded again.
 */
import DataLoader from "dataloader";
import { findAccount } from "../db/accounts.ts";
import { findOwnEndpoints, listEndpoints } from "../db/endpoints.ts";
import { listFlashApps } from "../db/flash/apps.ts";
import { findFlashBuilds, findFlashManifests, listFlashBuilds } from "../db/flash/builds.ts";
import { listFlashEnvironments } from "../db/flash/environments.ts";
import { findNetworkVolumes } from "../db/network-volumes.ts";
import { listReleases } from "../db/releases.ts";
import { findTemplates, listUnboundTemplates } from "../db/templates.ts";
import type { RequestContext } from "./context.ts";
import { listWorkers } from "./endpoints/worker-pods.ts";
import { listOwnHosts } from "./hosts/hosts.ts";
import { listOwnPods } from "./pods/pods.ts";
import { ServiceError } from "../contract/errors.ts";
import { ensureWebhookSecrets } from "./secrets/webhook-secrets.ts";

/** Manifests that one document may ask for: each may be as large as a body. */
export const FLASH_MANIFESTS_AT_ONCE = 20;

/** Endpoints whose releases one document may ask for: each has up to a hundred. */
const VERSIONED_ENDPOINTS_MAX = 20;

export type Loaders = ReturnType<typeof createLoaders>;

/** The loaders of one request; all they load belongs to the calling account. */
export function createLoaders(context: RequestContext) {
  const { db, now } = context;
  const { accountId } = context.principal;
  const loaders = {
    account: once(() => findAccount(db, accountId)),
    endpoints: once(() => listEndpoints(db, accountId)),
    hosts: once(() => listOwnHosts(context)),
    pods: once(() => listOwnPods(context)),
    unboundTemplates: once(() => listUnboundTemplates(db, accountId)),
    webhookSecrets: once(() => ensureWebhookSecrets(context.env, accountId, now)),
    endpoint: byId((ids) => findOwnEndpoints(db, accountId, ids)),
    template: byId((ids) => findTemplates(db, accountId, ids)),
    volume: byId((ids) => findNetworkVolumes(db, accountId, ids)),
    flashApps: once(() => listFlashApps(db, accountId)),
    flashBuild: byId((ids) => findFlashBuilds(db, accountId, ids)),
    flashManifest: byId((ids) => findFlashManifests(db, accountId, requireFew(ids))),
    flashEnvironmentsOf: grouped(
      (appIds) => listFlashEnvironments(db, accountId, appIds),
      ({ appId }) => appId,
    ),
    flashBuildsOf: grouped(
      (appIds) => listFlashBuilds(db, accountId, appIds),
      ({ appId }) => appId,
    ),
    versionsOf: grouped(
      (endpointIds) => listReleases(db, accountId, requireFewEndpoints(endpointIds)),
      ({ endpointId }) => endpointId,
    ),
    workers: grouped(
      (endpointIds) => listWorkers(context, endpointIds),
      ({ endpointId }) => endpointId,
    ),
  };
  return {
    ...loaders,
    /** Forgets what was loaded. */
    forget(): void {
      for (const loader of Object.values(loaders)) loader.clearAll();
    },
  };
}

/** Manifests may be as large as a body, each of them. */
function requireFew(buildIds: readonly string[]): readonly string[] {
  if (buildIds.length <= FLASH_MANIFESTS_AT_ONCE) return buildIds;
  throw new ServiceError(
    "invalid_input",
    `manifest: requested of ${buildIds.length} builds at once; at most ${FLASH_MANIFESTS_AT_ONCE} are shown. Ask for them by flashBuild.`,
  );
}

function requireFewEndpoints(endpointIds: readonly string[]): readonly string[] {
  if (endpointIds.length <= VERSIONED_ENDPOINTS_MAX) return endpointIds;
  throw new ServiceError(
    "invalid_input",
    `releases: requested of ${endpointIds.length} endpoints at once; at most ${VERSIONED_ENDPOINTS_MAX} are shown.`,
  );
}

/** Loads a single thing. */
function once<Value>(load: () => Promise<Value>) {
  const loader = new DataLoader<"", Value>(async () => [await load()]);
  return { load: () => loader.load(""), clearAll: () => void loader.clearAll() };
}

/** Loads rows by their ids, with one query for all ids that are requested together. */
function byId<Row extends { readonly id: string }>(
  find: (ids: readonly string[]) => Promise<readonly Row[]>,
): DataLoader<string, Row | undefined> {
  return new DataLoader(async (ids) => {
    const rows = new Map((await find(ids)).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id));
  });
}

/** Loads the lists that belong to ids, with one call for all ids that are requested together. */
function grouped<Row>(
  find: (ids: readonly string[]) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
): DataLoader<string, readonly Row[]> {
  return new DataLoader(async (ids) => {
    const rows = Map.groupBy(await find(ids), idOf);
    return ids.map((id) => rows.get(id) ?? []);
  });
}
