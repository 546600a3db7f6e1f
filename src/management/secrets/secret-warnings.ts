/** Warnings about references to secrets: what is saved or deleted is valid, but workers will not start with it. */
import { listSecrets, listSecretUsers } from "../../db/credentials/secrets.ts";
import type { EnvironmentVariable } from "../../db/schema.ts";
import { referencedSecrets } from "../../domain/accounts/secret-reference.ts";
import { warn, type RequestContext } from "../context.ts";

/** Warns of secrets that these variables refer to and that the account does not have. */
export async function warnOfMissingSecrets(
  context: RequestContext,
  env: readonly EnvironmentVariable[] | undefined,
): Promise<void> {
  const referred = [...new Set(namesIn(env ?? []))];
  if (referred.length === 0) return;
  const present = new Set(
    (await listSecrets(context.db, context.principal.accountId)).map(({ name }) => name),
  );
  for (const name of referred.filter((one) => !present.has(one))) {
    warn(context, {
      code: "SECRET_NOT_FOUND",
      message: `env: there is no secret named '${name}'; workers start when secretCreate has made one.`,
    });
  }
}

/** Warns of templates and endpoints whose variables refer to a secret that has been deleted. */
export async function warnOfDependents(context: RequestContext, secretName: string): Promise<void> {
  const mentioning = await listSecretUsers(context.db, context.principal.accountId, secretName);
  const users = mentioning.filter(({ env }) => namesIn(env).includes(secretName));
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
