/**
 * Turns "this host runs a worker of that endpoint" into all that the agent needs to run it.
 *
 * H1  Secrets are opened here and nowhere else, for the answer that hands them over; nothing of them is kept.
 * H2  Where one cannot be had, the assignment carries the problem and nothing that could be started.
 * H3  Texts are measured before they are made: a short template may refer to a long secret many times, and a host may
 *     have many workers of a long one.
 */
import {
  assignmentSchema,
  problemAssignment,
  unstartable,
  type Assignment,
} from "../../contract/agent/agent.ts";
import { shortIssues } from "../../contract/lenient-list.ts";
import type { AssignedWorker } from "../../fleet/messages.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import { loadBlueprint, type Blueprint, type RawVariable } from "./blueprint.ts";
import { assignedModels, modelTokenProblem } from "./model-needs.ts";
import { loadPodBlueprint } from "./pod-blueprint.ts";
import { clusterVariables } from "../../domain/pods/cluster-variables.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import { CallVariables, type Called } from "./call-variables.ts";
import { OpenedSecrets } from "./opened-secrets.ts";
import { filledLength, fillReferences, referencedSecrets } from "../../domain/accounts/secret-reference.ts";

/** Secrets that workers of one host refer to: all are open at once while its assignments are made. */
const HOST_SECRETS_MAX = 200;

/** Variables of one worker with their secrets filled in: Linux passes no more to a process. */
const WORKER_VARIABLES_MAX_CHARACTERS = 2_000_000;

/** Variables and arguments of all workers in one answer to a host; the workers beyond it wait, and say why. */
export const ANSWER_ASSIGNMENTS_MAX_CHARACTERS = 16_000_000;

export type Filled =
  | {
      readonly kind: "filled";
      readonly fields: Pick<Assignment, "env" | "registryAuth" | "masked" | "models">;
    }
  | { readonly kind: "problem"; readonly problem: string };

/**
 * Assignments of endpoints that are gone are left out, and so the agent ends those workers. `origin` is where the
 * agent reaches the edge.
 */
export async function resolveAssignments(
  env: Env,
  accountId: string,
  workers: readonly AssignedWorker[],
  origin: string,
): Promise<Assignment[]> {
  const versions = await findBlueprints(env, accountId, workers);
  const blueprints = withinSecrets([...versions.values()].filter((blueprint) => blueprint !== undefined));
  const secrets = await OpenedSecrets.read(env, accountId, {
    names: blueprints.flatMap(secretsOf),
    registryAuthIds: blueprints.map(({ registryAuthId }) => registryAuthId).filter((id) => id !== null),
  });
  const calls = new CallVariables(env, origin);
  const filled = new Map(
    await Promise.all(
      blueprints.map(
        async (blueprint) =>
          [blueprint, withCalls(fill(blueprint, secrets), await calls.of(blueprint))] as const,
      ),
    ),
  );
  let charactersLeft = ANSWER_ASSIGNMENTS_MAX_CHARACTERS;
  return workers.flatMap((worker) => {
    const blueprint = versions.get(versionKey(worker));
    if (!blueprint) return [];
    const own = filled.get(blueprint) ?? HOST_LIMIT_EXCEEDED;
    const characters = lengthOf(blueprint, own);
    if (characters > charactersLeft) return [toAssignment(worker, blueprint, HOST_LIMIT_EXCEEDED)];
    charactersLeft -= characters;
    return [toAssignment(worker, blueprint, own)];
  });
}

const HOST_LIMIT_EXCEEDED: Filled = {
  kind: "problem",
  problem:
    `The variables and arguments of the workers of this host have more than ${ANSWER_ASSIGNMENTS_MAX_CHARACTERS} characters ` +
    `together, or refer to more than ${HOST_SECRETS_MAX} secrets. Give their templates less, or lower workersMax.`,
};

function secretsOf({ variables, models }: Blueprint): readonly string[] {
  const names = variables.flatMap(({ value }) => referencedSecrets(value));
  return models && models.tokenSecret !== null ? [...names, models.tokenSecret] : names;
}

/** The first ones, up to so many secrets that they refer to. */
function withinSecrets(blueprints: readonly Blueprint[]): readonly Blueprint[] {
  let names: ReadonlySet<string> = new Set();
  return blueprints.filter((blueprint) => {
    const more = new Set([...names, ...secretsOf(blueprint)]);
    if (more.size > HOST_SECRETS_MAX) return false;
    names = more;
    return true;
  });
}

function versionKey({ endpointId, version }: Pick<AssignedWorker, "endpointId" | "version">): string {
  return `${endpointId}@${version}`;
}

/** Looks each release up once, however many workers of it the host has. */
async function findBlueprints(
  env: Env,
  accountId: string,
  workers: readonly AssignedWorker[],
): Promise<ReadonlyMap<string, Blueprint | undefined>> {
  const versions = new Map(workers.map((worker) => [versionKey(worker), worker]));
  return new Map(
    await Promise.all(
      [...versions].map(async ([key, worker]) => [key, await findBlueprint(env, accountId, worker)] as const),
    ),
  );
}

/** A template may be 1.5 MB of text and the isolate has 128 MB for everything, so the cache is bounded by text. */
const CACHE_MAX_CHARACTERS = 8_000_000;

/** By endpoint and release: what a worker is made of changes only with the release. */
const cache = new BoundedMap<Blueprint>(
  CACHE_MAX_CHARACTERS,
  (blueprint) => JSON.stringify(blueprint).length,
);

/** Nothing when the endpoint or pod is gone. */
async function findBlueprint(
  env: Env,
  accountId: string,
  { endpointId, version, isPod }: Pick<AssignedWorker, "endpointId" | "version" | "isPod">,
): Promise<Blueprint | undefined> {
  const key = `${accountId}/${endpointId}@${version}`;
  const cached = cache.get(key);
  if (cached) return cached;
  const load = isPod ? loadPodBlueprint : loadBlueprint;
  const loaded = await load(env, accountId, endpointId, version);
  if (!loaded) return undefined;
  if (isPod) {
    // Fleet counts starts as well; what D1 has is what shall run, unless Fleet has not heard of it yet.
    if (loaded.version <= version) cache.set(key, loaded.blueprint);
    return loaded.blueprint;
  }
  if (loaded.version !== version) return { ...loaded.blueprint, isSuperseded: true };
  cache.set(key, loaded.blueprint);
  return loaded.blueprint;
}

/** Characters of what may be long in an assignment. */
function lengthOf({ fixed: { dockerArgs, imageName } }: Blueprint, filled: Filled): number {
  if (filled.kind === "problem") return filled.problem.length;
  const { env, masked = [], models } = filled.fields;
  const ofModels = [...(models?.references ?? []), models?.token ?? ""];
  const values = [dockerArgs, imageName, ...Object.entries(env).flat(), ...masked, ...ofModels];
  return values.reduce((length, value) => length + value.length, 0);
}

/** What the owner has set stays. */
function withCalls(filled: Filled, { env, masked }: Called): Filled {
  if (filled.kind === "problem" || masked.length === 0) return filled;
  const { fields } = filled;
  const hidden = [...(fields.masked ?? []), ...masked];
  return { kind: "filled", fields: { ...fields, env: { ...env, ...fields.env }, masked: hidden } };
}

/** What is sent always fits the schema: an agent would refuse the whole reply, with all other workers in it. */
export function toAssignment(
  {
    workerId,
    version: revision,
    gpuIndexes,
    gpuMemoryMb,
    mode,
    limits,
    cluster,
    volumeNumber,
  }: AssignedWorker,
  { fixed, isSuperseded }: Blueprint,
  filled: Filled,
): Assignment {
  const whole = {
    ...fixed,
    workerId,
    revision,
    gpuIndexes: [...gpuIndexes],
    ...(gpuMemoryMb !== undefined && { gpuMemoryMb }),
    ...(mode && { mode }),
    ...(limits && { limits }),
    ...(isSuperseded && { isSuperseded }),
    ...(fixed.pod && {
      pod: { ...fixed.pod, volumeNumber, ...(cluster && { clusterAddress: cluster.address }) },
    }),
  };
  const own = filled.kind === "filled" ? filled.fields : unstartable(filled.problem);
  const fields = cluster ? { ...own, env: { ...clusterVariables(cluster), ...own.env } } : own;
  const assignment = { ...whole, ...fields };
  const { error } = assignmentSchema.safeParse(assignment);
  if (!error) return assignment;
  logFailure("assignment_unfit", { workerId, endpointId: fixed.endpointId }, new Error(shortIssues(error)));
  return problemAssignment(
    whole,
    `No worker can be made of what is set (${shortIssues(error)}). Save the endpoint and its template again.`,
  );
}

function fill(
  { variables, registryAuthId, registryAuthOwner, ...blueprint }: Blueprint,
  secrets: OpenedSecrets,
): Filled {
  const problem =
    blueprint.problem ??
    variables.map((variable) => problemOf(variable, secrets)).find((message) => message !== undefined) ??
    (registryAuthId === null ? undefined : secrets.problemOfLogin(registryAuthId, registryAuthOwner)) ??
    modelTokenProblem(blueprint, secrets);
  if (problem !== undefined) return { kind: "problem", problem };
  const characters = variables.reduce(
    (sum, { key, value }) => sum + key.length + filledLength(value, (name) => secrets.value(name).length),
    0,
  );
  if (characters > WORKER_VARIABLES_MAX_CHARACTERS) return { kind: "problem", problem: tooLong(characters) };
  const env = Object.fromEntries(
    variables.map(({ key, value }) => [key, fillReferences(value, (name) => secrets.value(name))]),
  );
  const registryAuth = registryAuthId === null ? null : secrets.login(registryAuthId);
  const names = new Set(variables.flatMap(({ value }) => referencedSecrets(value)));
  const masked = names.size === 0 ? {} : { masked: [...names].map((name) => secrets.value(name)) };
  return { kind: "filled", fields: { env, registryAuth, ...masked, ...assignedModels(blueprint, secrets) } };
}

function tooLong(characters: number): string {
  return (
    `The variables of the worker have ${characters} characters with their secrets filled in; at most ` +
    `${WORKER_VARIABLES_MAX_CHARACTERS} are possible. Shorten them, or refer to secrets less often.`
  );
}

function problemOf({ key, value, owner }: RawVariable, secrets: OpenedSecrets): string | undefined {
  const place = `variable ${key} of ${owner}`;
  return referencedSecrets(value)
    .map((name) => secrets.problemOfValue(name, place))
    .find((message) => message !== undefined);
}
