/**
 * What the workers of a version are made of, as its release stores it: the columns of the endpoint and of its template
 * that make a new version when they change, in the form in which the database has them.
 */
import { and, eq, sql, type Column, type SQL } from "drizzle-orm";
import type { Database } from "./database.ts";
import type { EndpointRecord } from "./endpoints.ts";
import { endpoint, endpointRelease, template } from "./schema.ts";
import type { TemplateRecord } from "./templates.ts";

/** Longer settings are not stored: one change of a template is stored for each of its endpoints. */
const SETTINGS_MAX_CHARACTERS = 65_536;

const endpointColumns = {
  gpuIds: endpoint.gpuIds,
  gpuCount: endpoint.gpuCount,
  gpuMemoryGb: endpoint.gpuMemoryGb,
  instanceIds: endpoint.instanceIds,
  locations: endpoint.locations,
  networkVolumeId: endpoint.networkVolumeId,
  networkVolumeIds: endpoint.networkVolumeIds,
  env: endpoint.env,
  allowedCudaVersions: endpoint.allowedCudaVersions,
  minCudaVersion: endpoint.minCudaVersion,
  flashBuildId: endpoint.flashBuildId,
};

const templateColumns = {
  imageName: template.imageName,
  containerDiskInGb: template.containerDiskInGb,
  dockerArgs: template.dockerArgs,
  env: template.env,
  ports: template.ports,
  containerRegistryAuthId: template.containerRegistryAuthId,
  models: template.models,
  modelTokenSecret: template.modelTokenSecret,
  startSsh: template.startSsh,
  startJupyter: template.startJupyter,
  startScript: template.startScript,
  advancedStart: template.advancedStart,
  config: template.config,
};

export type VersionSettings = {
  readonly endpoint: Pick<EndpointRecord, keyof typeof endpointColumns>;
  readonly template: Pick<TemplateRecord, keyof typeof templateColumns>;
};

/** The settings of an endpoint and its template, for a statement that reads both. */
export function presentSettings(): SQL<string | null> {
  const text = sql`json_object('endpoint', ${objectOf(endpointColumns)}, 'template', ${objectOf(templateColumns)})`;
  return sql<string | null>`CASE WHEN length(${text}) <= ${SETTINGS_MAX_CHARACTERS} THEN ${text} END`;
}

/** The settings of a version of an endpoint; undefined where they are not stored. */
export async function findVersionSettings(
  db: Database,
  accountId: string,
  endpointId: string,
  version: number,
): Promise<VersionSettings | undefined> {
  const isIt = and(
    eq(endpointRelease.accountId, accountId),
    eq(endpointRelease.endpointId, endpointId),
    eq(endpointRelease.version, version),
  );
  const found = await db.select({ text: endpointRelease.settings }).from(endpointRelease).where(isIt).get();
  if (!found || found.text === null) return undefined;
  const stored = JSON.parse(found.text) as Readonly<Record<"endpoint" | "template", StoredRow>>;
  return {
    endpoint: valuesOf(endpointColumns, stored.endpoint) as VersionSettings["endpoint"],
    template: valuesOf(templateColumns, stored.template) as VersionSettings["template"],
  };
}

type StoredRow = Readonly<Record<string, string | number | null>>;
type Columns = Readonly<Record<string, Column>>;

function objectOf(columns: Columns): SQL {
  const members = Object.entries(columns).map(([name, column]) => sql`${sql.raw(`'${name}'`)}, ${column}`);
  return sql`json_object(${sql.join(members, sql`, `)})`;
}

function valuesOf(columns: Columns, stored: StoredRow): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, column]) => {
    const value = stored[name] ?? null;
    return [name, value === null ? null : column.mapFromDriverValue(value)] as const;
  });
  return Object.fromEntries(entries);
}
