/** Secrets with which an account's webhooks are signed; sealed in the database, open in here. */
import { open, seal, type SealedPlace } from "../../auth/envelope.ts";
import type { EncryptionKey } from "../../auth/encryption-keys.ts";
import type { WebhookSecret } from "../../contract/webhook.ts";
import type { Author } from "../../db/audit-log.ts";
import { openDatabase } from "../../db/database.ts";
import { randomRowId } from "../../db/row-id.ts";
import {
  insertFirstWebhookSecret,
  listWebhookSecrets,
  replaceWebhookSecret,
  WEBHOOK_SECRETS_MAX,
  type StoredWebhookSecret,
} from "../../db/credentials/webhook-secrets.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import { openingKeys } from "./sealing-keys.ts";
import { ServiceError } from "../../contract/errors.ts";

/** How a stored secret begins that no key seals; maintenance seals it once there is one. */
export const PLAIN_FORM = "plain:";

const SECRET_BYTES = 32;

type WebhookEnv = Pick<Env, "DB" | "ENCRYPTION_KEYS">;

/**
 * The account's secrets that sign now, the newest first; creates one when there is none yet. A secret whose key
 * is missing is left out and logged.
 */
export async function ensureWebhookSecrets(
  env: WebhookEnv,
  accountId: string,
  now: number,
): Promise<WebhookSecret[]> {
  const db = openDatabase(env.DB);
  const stored = await listWebhookSecrets(db, accountId, now);
  if (stored.length > 0) return await openAll(env, stored);
  await insertFirstWebhookSecret(db, await freshSecret(env, accountId, now));
  return await openAll(env, await listWebhookSecrets(db, accountId, now));
}

/** Makes a new secret; the old one signs beside it for WEBHOOK_SECRET_OVERLAP_MS. */
export async function rotateWebhookSecret(env: WebhookEnv, author: Author): Promise<WebhookSecret[]> {
  const { accountId, now } = author;
  const db = openDatabase(env.DB);
  if (!(await replaceWebhookSecret(db, author, await freshSecret(env, accountId, now)))) {
    throw new ServiceError(
      "limit_reached",
      `Calls carry signatures of ${WEBHOOK_SECRETS_MAX} secrets already, which is as many as they may. A replaced secret signs for another 24 hours: wait until one has run out.`,
    );
  }
  return await openAll(env, await listWebhookSecrets(db, accountId, now));
}

async function freshSecret(env: WebhookEnv, accountId: string, now: number): Promise<StoredWebhookSecret> {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES));
  const plaintext = `whsec_${btoa(String.fromCharCode(...bytes))}`;
  const id = randomRowId();
  const [newest, ...older] = openingKeys(env);
  const secret = newest
    ? await seal([newest, ...older], placeOf({ id, accountId }), plaintext)
    : PLAIN_FORM + plaintext;
  return { id, accountId, secret, createdAt: now, validUntil: null };
}

async function openAll(env: WebhookEnv, stored: readonly StoredWebhookSecret[]): Promise<WebhookSecret[]> {
  const keys = openingKeys(env);
  const opened = await Promise.all(stored.map(async (row) => await openOne(keys, row)));
  return opened.filter((secret) => secret !== undefined);
}

async function openOne(
  keys: readonly EncryptionKey[],
  row: StoredWebhookSecret,
): Promise<WebhookSecret | undefined> {
  const { id, secret, createdAt, validUntil } = row;
  if (secret.startsWith(PLAIN_FORM)) {
    return { secret: secret.slice(PLAIN_FORM.length), createdAt, validUntil };
  }
  const opening = await open(keys, placeOf(row), secret);
  if (opening.kind === "opened") return { secret: opening.plaintext, createdAt, validUntil };
  logFailure("sealed_text_unopenable", { kind: "webhook_secret", id }, new Error(opening.kind));
  return undefined;
}

function placeOf({ id, accountId }: Pick<StoredWebhookSecret, "id" | "accountId">): SealedPlace {
  return { accountId, kind: "webhook_secret", rowId: id };
}
