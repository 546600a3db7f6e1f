/** Releases of endpoints: what made each version, recorded in the transaction that makes it. */
import { and, desc, eq, getTableColumns, isNotNull, sql, type SQL, type SQLWrapper } from "drizzle-orm";
import type { Author } from "./audit-log.ts";
import { type Database, isOneOf } from "./database.ts";
import { presentSettings } from "./version-settings.ts";
import {
  apiKey,
  endpoint,
  endpointRelease,
  template,
  type EnvironmentVariable,
  type Json,
  type ReleaseChange,
} from "./schema.ts";

const { settings: _settings, ...shown } = getTableColumns(endpointRelease);

export type ReleaseRecord = Omit<typeof endpointRelease.$inferSelect, "settings"> & {
  /** Null for a key that is deleted. */
  readonly apiKeyName: string | null;
};

/** Older releases of an endpoint are forgotten. */
const RELEASES_MAX = 100;
/** As many latest versions of an endpoint can be run again: their builds and settings stay. */
export const VERSIONS_RETAINED = 10;
/**
 * A longer value is described by its length, and a longer name of a variable is cut: one change of a template is
 * recorded for each of its endpoints.
 */
const VALUE_MAX_CHARACTERS = 200;
const NAME_MAX_CHARACTERS = 100;

/**
 * Statements for the end of a batch that made a new version of the endpoints that match, or a new endpoint: each
 * gets a release of its version, unless it has one.
 */
export function recordReleases(
  db: Database,
  author: Author,
  ofEndpoints: SQL | undefined,
  changes: readonly ReleaseChange[],
  reason: string | null = null,
) {
  const release = db
    .select({
      endpointId: endpoint.id,
      version: endpoint.version,
      accountId: endpoint.accountId,
      apiKeyId: sql<string>`${author.apiKeyId}`.as("api_key_id"),
      changes: sql<readonly ReleaseChange[]>`${JSON.stringify(changes)}`.as("changes"),
      createdAt: sql<number>`${author.now}`.as("created_at"),
      flashBuildId: endpoint.flashBuildId,
      settings: presentSettings().as("settings"),
      reason: sql<string | null>`${reason}`.as("reason"),
    })
    .from(endpoint)
    .innerJoin(template, eq(template.id, endpoint.templateId))
    .where(ofEndpoints);
  const isOlderBy = (count: number) =>
    sql`EXISTS (SELECT 1 FROM ${endpoint} WHERE ${endpoint.id} = ${endpointRelease.endpointId}
      AND ${endpointRelease.version} <= ${endpoint.version} - ${count} AND ${ofEndpoints})`;
  return [
    db.insert(endpointRelease).select(release).onConflictDoNothing(),
    db.delete(endpointRelease).where(isOlderBy(RELEASES_MAX)),
    db
      .update(endpointRelease)
      .set({ settings: null })
      .where(and(isNotNull(endpointRelease.settings), isOlderBy(VERSIONS_RETAINED))),
  ] as const;
}

/** Releases of endpoints of the account, the newest of each first. */
export async function listReleases(
  db: Database,
  accountId: string,
  endpointIds: readonly string[],
): Promise<ReleaseRecord[]> {
  return await db
    .select({ ...shown, apiKeyName: apiKey.name })
    .from(endpointRelease)
    .leftJoin(
      apiKey,
      and(eq(apiKey.accountId, endpointRelease.accountId), eq(apiKey.id, endpointRelease.apiKeyId)),
    )
    .where(and(eq(endpointRelease.accountId, accountId), isOneOf(endpointRelease.endpointId, endpointIds)))
    .orderBy(desc(endpointRelease.version));
}

/** Whether a build belongs to one of the latest versions of an endpoint, to which users may go back. */
export function isBuildOfRecentVersion(buildId: SQLWrapper): SQL {
  return sql`EXISTS (SELECT 1 FROM ${endpointRelease} JOIN ${endpoint} ON ${endpoint.id} = ${endpointRelease.endpointId}
    WHERE ${endpointRelease.flashBuildId} = ${buildId}
      AND ${endpointRelease.version} > ${endpoint.version} - ${VERSIONS_RETAINED})`;
}

/** What differs between two versions of a row; only the names of environment variables, since values may be secret. */
export function changesBetween<Values extends object>(
  before: Values,
  after: Partial<Values>,
  prefix = "",
): ReleaseChange[] {
  return Object.entries(after).flatMap(([field, value]: [string, unknown]) => {
    const old: unknown = Reflect.get(before, field);
    if (JSON.stringify(old) === JSON.stringify(value)) return [];
    if (field === "env") return changedVariables(old as Variables, value as Variables, `${prefix}env`);
    return [{ field: `${prefix}${field}`, old: shorten(old), new: shorten(value) }];
  });
}

type Variables = readonly EnvironmentVariable[];
const HIDDEN = "***";

function changedVariables(before: Variables, after: Variables, prefix: string): ReleaseChange[] {
  const old = new Map(before.map(({ key, value }) => [key, value]));
  const now = new Map(after.map(({ key, value }) => [key, value]));
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((key) => old.get(key) !== now.get(key))
    .map((key) => ({
      field: `${prefix}.${key.slice(0, NAME_MAX_CHARACTERS)}`,
      old: old.has(key) ? HIDDEN : null,
      new: now.has(key) ? HIDDEN : null,
    }));
}

function shorten(value: unknown): Json {
  const { length } = JSON.stringify(value ?? null);
  return length <= VALUE_MAX_CHARACTERS ? ((value ?? null) as Json) : `(${length} characters)`;
}
