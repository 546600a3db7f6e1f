/** Turns "this host runs a worker of that endpoint" into all that the agent needs to run it. */
import type { Assignment } from "../../contract/agent.ts";
import { WORKER_START_LIMIT_MS } from "../../contract/limits.ts";
import { openDatabase } from "../../db/database.ts";
import { findOwnEndpoint } from "../../db/endpoints.ts";
import { findTemplate } from "../../db/templates.ts";
import type { AssignedWorker } from "../../fleet/messages.ts";
import type { Env } from "../../env.ts";

type Blueprint = Omit<Assignment, "workerId" | "revision" | "gpuIndexes">;

const CACHE_SIZE = 1_000;

/** By endpoint and release: what a worker is made of changes only with the release. */
const cache = new Map<string, Blueprint>();

/** Assignments of endpoints that are gone are left out, and so the agent ends those workers. */
export async function resolveAssignments(
  env: Env,
  accountId: string,
  workers: readonly AssignedWorker[],
): Promise<Assignment[]> {
  const resolved = await Promise.all(
    workers.map(async ({ workerId, endpointId, version, gpuIndexes }) => {
      const blueprint = await findBlueprint(env, accountId, endpointId, version);
      return blueprint && { ...blueprint, workerId, revision: version, gpuIndexes: [...gpuIndexes] };
    }),
  );
  return resolved.filter((assignment) => assignment !== undefined);
}

async function findBlueprint(env: Env, accountId: string, endpointId: string, version: number) {
  const key = `${accountId}/${endpointId}@${version}`;
  const known = cache.get(key);
  if (known) return known;
  const loaded = await loadBlueprint(env, accountId, endpointId);
  if (!loaded || loaded.version !== version) return loaded?.blueprint;
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(key, loaded.blueprint);
  return loaded.blueprint;
}

async function loadBlueprint(env: Env, accountId: string, endpointId: string) {
  const database = openDatabase(env.DB);
  const endpoint = await findOwnEndpoint(database, accountId, endpointId);
  const template = endpoint && (await findTemplate(database, accountId, endpoint.templateId));
  if (!endpoint || !template) return undefined;
  const variables = toRecord([...template.env, ...endpoint.env]);
  const blueprint: Blueprint = {
    endpointId,
    type: endpoint.type,
    imageName: template.imageName,
    dockerArgs: template.dockerArgs,
    env: variables,
    containerDiskInGb: template.containerDiskInGb,
    registryAuth: null,
    startLimitMs: startLimit(variables["RUNPOD_INIT_TIMEOUT"]),
  };
  return { version: endpoint.version, blueprint };
}

function toRecord(variables: readonly { readonly key: string; readonly value: string }[]) {
  return Object.fromEntries(variables.map(({ key, value }) => [key, value]));
}

/** Images may ask for a longer start in seconds. */
function startLimit(initTimeoutSeconds: string | undefined): number {
  const seconds = Number(initTimeoutSeconds ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : WORKER_START_LIMIT_MS;
}
