/** Secrets of an account: written by its users, read only by the hosts that start its workers. */
import type * as z from "zod";
import { seal, type SealedPlace } from "../../auth/envelope.ts";
import { randomRowId } from "../../db/row-id.ts";
import {
  deleteSecret,
  findSecret,
  hasSecretNamed,
  insertSecretIfNameFree,
  listSecrets,
  updateSecret,
  listSecretUsers,
  type SecretRecord,
} from "../../db/credentials/secrets.ts";
import { referencedSecrets } from "../../domain/accounts/secret-reference.ts";
import { requireQuota } from "../quota.ts";
import { authorOf, retryOnConflict, warn, type RequestContext } from "../context.ts";
import { renewAssignments } from "../objects.ts";
import { requireSealingKeys } from "./sealing-keys.ts";
import type { secretCreationSchema, secretDescriptionSchema, secretValueSchema } from "../nouns/secret.ts";
import { ServiceError } from "../../contract/errors.ts";
import type { EnvironmentVariable } from "../../db/schema.ts";

/** The secrets of the calling account without their values, the oldest first. */
export async function listOwnSecrets({ db, principal }: RequestContext): Promise<readonly SecretRecord[]> {
  return await listSecrets(db, principal.accountId);
}

/** Throws the error that `createSecret` would. */
export async function checkSecretCreation(
  context: RequestContext,
  { name }: z.output<typeof secretCreationSchema>,
): Promise<void> {
  requireSealingKeys(context.env);
  await requireQuota(context, "secret");
  await refuseTakenName(context, name);
}

export async function createSecret(
  context: RequestContext,
  { name, value, description }: z.output<typeof secretCreationSchema>,
): Promise<SecretRecord> {
  const id = randomRowId();
  const sealedValue = await sealValue(context, id, value);
  const values = { id, name, description: description ?? null, sealedValue };
  const created = await retryOnConflict(async () => {
    await requireQuota(context, "secret");
    const inserted = await insertSecretIfNameFree(context.db, authorOf(context), values);
    if (inserted === undefined) await refuseTakenName(context, name);
    return inserted;
  });
  await renewAssignments(context);
  return created;
}

/** Running workers keep the old value; the next start of a container takes the new one. */
export async function changeSecretValue(
  context: RequestContext,
  { id, value }: z.output<typeof secretValueSchema>,
): Promise<SecretRecord> {
  const read = await requireSecret(context, id);
  const sealedValue = await sealValue(context, id, value);
  const updated = await updateSecret(context.db, authorOf(context), read, { sealedValue });
  if (updated === undefined) throw notFound(id);
  await renewAssignments(context);
  return updated;
}

export async function changeSecretDescription(
  context: RequestContext,
  { id, description }: z.output<typeof secretDescriptionSchema>,
): Promise<SecretRecord> {
  const read = await requireSecret(context, id);
  if (description === undefined || description === read.description) return read;
  const updated = await updateSecret(context.db, authorOf(context), read, { description });
  if (updated === undefined) throw notFound(id);
  return updated;
}

/** Running workers continue; later starts of workers that refer to the secret fail, and a warning reports this. */
export async function removeSecret(context: RequestContext, id: string): Promise<void> {
  const read = await requireSecret(context, id);
  if (!(await deleteSecret(context.db, authorOf(context), read))) throw notFound(id);
  await renewAssignments(context);
  await warnOfDependents(context, read.name);
}

async function refuseTakenName({ db, principal }: RequestContext, name: string): Promise<void> {
  if (!(await hasSecretNamed(db, principal.accountId, name))) return;
  throw new ServiceError(
    "secret_name_taken",
    `name: a secret named '${name}' already exists; choose another name, or change its value by secretValueUpdate`,
  );
}

async function requireSecret(context: RequestContext, id: string): Promise<SecretRecord> {
  const found = await findSecret(context.db, context.principal.accountId, id);
  if (found === undefined) throw notFound(id);
  return found;
}

async function sealValue(context: RequestContext, rowId: string, value: string): Promise<string> {
  const place: SealedPlace = { accountId: context.principal.accountId, kind: "secret", rowId };
  return await seal(requireSealingKeys(context.env), place, value);
}

function notFound(id: string): ServiceError {
  return new ServiceError("secret_not_found", `id: secret '${id}' was not found`);
}

/** What may name secrets in the settings of a container. */
type SecretUse = {
  readonly env?: readonly EnvironmentVariable[] | undefined;
  readonly modelTokenSecret?: string | null | undefined;
};

/** Warns of secrets that these settings refer to and that the account does not have. */
export async function warnOfMissingSecrets(
  context: RequestContext,
  { env = [], modelTokenSecret }: SecretUse,
): Promise<void> {
  const referred = new Map([
    ...(modelTokenSecret ? [[modelTokenSecret, "modelTokenSecret"] as const] : []),
    ...namesIn(env).map((name) => [name, "env"] as const),
  ]);
  if (referred.size === 0) return;
  const present = new Set(
    (await listSecrets(context.db, context.principal.accountId)).map(({ name }) => name),
  );
  for (const [name, field] of referred) {
    if (present.has(name)) continue;
    warn(context, {
      code: "SECRET_NOT_FOUND",
      message: `${field}: there is no secret named '${name}'; workers start when secretCreate has made one.`,
    });
  }
}

/** Warns of templates and endpoints that refer to a secret that has been deleted. */
export async function warnOfDependents(context: RequestContext, secretName: string): Promise<void> {
  const mentioning = await listSecretUsers(context.db, context.principal.accountId, secretName);
  const users = mentioning.filter(
    ({ env, modelTokenSecret }) => modelTokenSecret === secretName || namesIn(env).includes(secretName),
  );
  if (users.length === 0) return;
  const named = users.map(({ kind, name }) => `${kind} '${name}'`).join(", ");
  warn(context, {
    code: "SECRET_IN_USE",
    message: `id: secret '${secretName}' is deleted, but used by ${named}; workers will not start there until there is one of that name.`,
  });
}

function namesIn(env: readonly EnvironmentVariable[]): readonly string[] {
  return env.flatMap(({ value }) => referencedSecrets(value));
}
