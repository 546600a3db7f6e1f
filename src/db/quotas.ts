/** How much of each kind an account may have, so that its lists and what is done for all of them stay bounded. */
import { sql, type SQL } from "drizzle-orm";
import type { Database } from "./database.ts";
import {
  apiKey,
  cluster,
  endpoint,
  flashApp,
  flashUpload,
  joinToken,
  networkVolume,
  pod,
  registryAuth,
  secret,
  signIn,
  template,
} from "./schema.ts";

/** Revoked and expired keys count for as long as they are listed. */
const API_KEYS_MAX = 5_000;

const CLUSTERS_MAX = 200;
const ENDPOINTS_MAX = 1_000;
const FLASH_APPS_MAX = 500;
/** Artifacts of an account that were announced and are not yet builds. */
const FLASH_UPLOADS_MAX = 500;
const TEMPLATES_MAX = 2_000;
const SECRETS_MAX = 2_000;
const SIGN_INS_MAX = 1_000;
const REGISTRY_AUTHS_MAX = 500;
const NETWORK_VOLUMES_MAX = 1_000;
const PODS_MAX = 1_000;
/** Used ones count until they expire. */
const JOIN_TOKENS_MAX = 1_000;

const QUOTAS = {
  apiKey: { table: apiKey, max: API_KEYS_MAX },
  cluster: { table: cluster, max: CLUSTERS_MAX },
  endpoint: { table: endpoint, max: ENDPOINTS_MAX },
  flashApp: { table: flashApp, max: FLASH_APPS_MAX },
  flashUpload: { table: flashUpload, max: FLASH_UPLOADS_MAX },
  joinToken: { table: joinToken, max: JOIN_TOKENS_MAX },
  networkVolume: { table: networkVolume, max: NETWORK_VOLUMES_MAX },
  pod: { table: pod, max: PODS_MAX },
  registryAuth: { table: registryAuth, max: REGISTRY_AUTHS_MAX },
  secret: { table: secret, max: SECRETS_MAX },
  signIn: { table: signIn, max: SIGN_INS_MAX },
  template: { table: template, max: TEMPLATES_MAX },
} as const;

export type QuotaKind = keyof typeof QUOTAS;

/** How many of a kind an account may have. */
export function quotaOf(kind: QuotaKind): number {
  return QUOTAS[kind].max;
}

/** For a write: whether the account may have one more at that moment. */
export function isWithinQuota(kind: QuotaKind, accountId: string): SQL {
  const { table, max } = QUOTAS[kind];
  return sql`(SELECT count(*) FROM ${table} WHERE ${table.accountId} = ${accountId}) < ${max}`;
}

/** Whether the account may have one more now. */
export async function hasQuotaLeft(db: Database, kind: QuotaKind, accountId: string): Promise<boolean> {
  const row = await db.get<{ readonly isWithinQuota: number }>(
    sql`SELECT ${isWithinQuota(kind, accountId)} AS "isWithinQuota"`,
  );
  return row.isWithinQuota === 1;
}
