/** Which build a release of an endpoint gets: what is active in its environment at that moment. */
import { sql, type SQL, type SQLWrapper } from "drizzle-orm";
import type { Database } from "../database.ts";
import { endpoint, flashBuild, flashEnvironment } from "../schema.ts";

/** An endpoint with an image of its own has nothing of the build, and is not released with it. */
function pinnedBuild(environmentId: string | SQLWrapper, endpointName: string | SQLWrapper): SQL {
  const hasOwnImage = sql`EXISTS (SELECT 1 FROM json_each(${flashBuild.manifest}, '$.resources') AS resource
    WHERE resource.key = ${endpointName} AND json_extract(resource.value, '$.client_mode'))`;
  return sql`(SELECT CASE WHEN ${hasOwnImage} THEN NULL ELSE ${flashBuild.id} END
    FROM ${flashEnvironment} JOIN ${flashBuild} ON ${flashBuild.id} = ${flashEnvironment.activeBuildId}
    WHERE ${flashEnvironment.id} = ${environmentId})`;
}

/** The build that an endpoint of this name gets; null for one that gets none. */
export async function findPinnedBuild(
  db: Database,
  environmentId: string,
  endpointName: string,
): Promise<string | null> {
  const build = pinnedBuild(environmentId, endpointName);
  return (await db.get<{ readonly id: string | null }>(sql`SELECT ${build} AS "id"`)).id;
}

/** For an update of endpoints: the build that each of them gets. */
export function buildForNewVersion(): SQL {
  return pinnedBuild(endpoint.flashEnvironmentId, endpoint.name);
}
