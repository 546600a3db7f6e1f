/**
 * Turns "this host runs a worker of that endpoint" into all that the agent needs to run it.
 *
 * H1  Secrets are opened here and nowhere else, for the answer that hands them over; nothing of them is kept.
 * H2  Where one cannot be had, the assignment carries the problem and nothing that could be started.
 */
import { assignmentSchema, problemAssignment, unstartable, type Assignment } from "../../contract/agent.ts";
import { faultOf } from "../../contract/each-fitting.ts";
import type { AssignedWorker } from "../../fleet/messages.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../../failure-log.ts";
import { findBlueprint, type Blueprint, type RawVariable } from "./blueprint.ts";
import { CallVariables, type Called } from "./call-variables.ts";
import { HandedSecrets } from "./handed-secrets.ts";
import { fillReferences, referredSecrets } from "../../domain/secret-reference.ts";

export type Filled =
  | { readonly kind: "filled"; readonly parts: Pick<Assignment, "env" | "registryAuth" | "masked"> }
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
  const found = await Promise.all(
    workers.map(async (worker) => ({
      worker,
      blueprint: await findBlueprint(env, accountId, worker.endpointId, worker.version),
    })),
  );
  const blueprints = found.map(({ blueprint }) => blueprint).filter((blueprint) => blueprint !== undefined);
  const secrets = await HandedSecrets.read(env, accountId, {
    names: blueprints.flatMap(({ variables }) => variables.flatMap(({ value }) => referredSecrets(value))),
    registryAuthIds: blueprints.map(({ registryAuthId }) => registryAuthId).filter((id) => id !== null),
  });
  const calls = new CallVariables(env, origin);
  return await Promise.all(
    found.flatMap(({ worker, blueprint }) =>
      blueprint === undefined ? [] : [handOver(worker, blueprint, secrets, calls)],
    ),
  );
}

async function handOver(
  worker: AssignedWorker,
  blueprint: Blueprint,
  secrets: HandedSecrets,
  calls: CallVariables,
): Promise<Assignment> {
  return toAssignment(worker, blueprint, withCalls(fill(blueprint, secrets), await calls.of(blueprint)));
}

/** What the owner has set stays. */
function withCalls(filled: Filled, { env, masked }: Called): Filled {
  if (filled.kind === "problem" || masked.length === 0) return filled;
  const { parts } = filled;
  const hidden = [...(parts.masked ?? []), ...masked];
  return { kind: "filled", parts: { ...parts, env: { ...env, ...parts.env }, masked: hidden } };
}

/** What is sent always fits the schema: an agent would refuse the whole reply, with all other workers in it. */
export function toAssignment(
  { workerId, version: revision, gpuIndexes, mode, limits }: AssignedWorker,
  { fixed, isSuperseded }: Blueprint,
  filled: Filled,
): Assignment {
  const whole = {
    ...fixed,
    workerId,
    revision,
    gpuIndexes: [...gpuIndexes],
    ...(mode && { mode }),
    ...(limits && { limits }),
    ...(isSuperseded && { isSuperseded }),
  };
  const parts = filled.kind === "filled" ? filled.parts : unstartable(filled.problem);
  const assignment = { ...whole, ...parts };
  const { error } = assignmentSchema.safeParse(assignment);
  if (!error) return assignment;
  logFailure("assignment_unfit", { workerId, endpointId: fixed.endpointId }, new Error(faultOf(error)));
  return problemAssignment(
    whole,
    `No worker can be made of what is set (${faultOf(error)}). Save the endpoint and its template again.`,
  );
}

function fill(
  { variables, registryAuthId, templateName, ...blueprint }: Blueprint,
  secrets: HandedSecrets,
): Filled {
  const problem =
    blueprint.problem ??
    variables.map((variable) => problemOf(variable, secrets)).find((sentence) => sentence !== undefined) ??
    (registryAuthId === null ? undefined : secrets.problemOfLogin(registryAuthId, templateName));
  if (problem !== undefined) return { kind: "problem", problem };
  const env = Object.fromEntries(
    variables.map(({ key, value }) => [key, fillReferences(value, (name) => secrets.value(name))]),
  );
  const registryAuth = registryAuthId === null ? null : secrets.login(registryAuthId);
  const names = new Set(variables.flatMap(({ value }) => referredSecrets(value)));
  const masked = names.size === 0 ? {} : { masked: [...names].map((name) => secrets.value(name)) };
  return { kind: "filled", parts: { env, registryAuth, ...masked } };
}

function problemOf({ key, value, owner }: RawVariable, secrets: HandedSecrets): string | undefined {
  const place = `variable ${key} of ${owner}`;
  return referredSecrets(value)
    .map((name) => secrets.problemOfValue(name, place))
    .find((sentence) => sentence !== undefined);
}
