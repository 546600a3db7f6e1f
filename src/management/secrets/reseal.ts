/** Changing the key: what is sealed under older keys is put under the newest one, a bounded number at a time. */
import { rewrap, seal, sealedPrefix, type SealedPlace, type SealingKeys } from "../../auth/envelope.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { randomRowId } from "../../db/row-id.ts";
import {
  countSealedUnderOtherKeys,
  listSealedValues,
  replaceSealedValue,
  SEALED_KINDS,
  type SealedRow,
} from "../../db/credentials/sealed-values.ts";
import type { Env } from "../../env.ts";
import { logFailure } from "../failure-log.ts";
import { PLAIN_FORM } from "./webhook-secrets.ts";
import { requireSealingKeys } from "./sealing-keys.ts";

export type ResealOutcome = {
  /** Now under the newest key. */
  readonly resealed: number;
  /** Left as they are, because they do not open; each is logged. */
  readonly unopenable: number;
  /** As many were found as were allowed, so there may be more. */
  readonly mayBeMore: boolean;
};

/**
 * Puts at most `limit` texts under the newest key; nothing when no key is configured. Any number of these may
 * run at once: a value that another write has changed in the meantime stays as it is.
 */
export async function resealOlder(
  env: Pick<Env, "DB" | "ENCRYPTION_KEYS">,
  limit: number,
): Promise<ResealOutcome> {
  if (!env.ENCRYPTION_KEYS) return { resealed: 0, unopenable: 0, mayBeMore: false };
  const keys = requireSealingKeys(env);
  const db = openDatabase(env.DB);
  const rows = await findOlder(db, keys, limit);
  const outcomes = await Promise.all(rows.map(async (row) => await resealOne(db, keys, row)));
  return {
    resealed: outcomes.filter((outcome) => outcome === "resealed").length,
    unopenable: outcomes.filter((outcome) => outcome === "unopenable").length,
    mayBeMore: rows.length === limit,
  };
}

/** The key in use, and how many texts of the whole installation still need another one. */
export async function describeEncryption(
  env: Pick<Env, "DB" | "ENCRYPTION_KEYS">,
): Promise<{ readonly keyId: string; readonly sealedUnderOlderKeys: number }> {
  const [{ id: keyId }] = requireSealingKeys(env);
  const sealedUnderOlderKeys = await countSealedUnderOtherKeys(openDatabase(env.DB), sealedPrefix(keyId));
  return { keyId, sealedUnderOlderKeys };
}

/** Texts whose key the ring has. They are begun at a random row, so that damaged ones hold up no others. */
async function findOlder(db: Database, [, ...older]: SealingKeys, limit: number): Promise<SealedRow[]> {
  const prefixes = [PLAIN_FORM, ...older.map(({ id }) => sealedPrefix(id))];
  const search = { prefixes, pivot: randomRowId(), limit };
  const found = await Promise.all(SEALED_KINDS.map(async (kind) => await listSealedValues(db, kind, search)));
  return found.flat().slice(0, limit);
}

async function resealOne(db: Database, keys: SealingKeys, row: SealedRow) {
  const place: SealedPlace = row;
  if (row.kind === "webhook_secret" && row.sealed.startsWith(PLAIN_FORM)) {
    return await replace(db, row, await seal(keys, place, row.sealed.slice(PLAIN_FORM.length)));
  }
  const outcome = await rewrap(keys, place, row.sealed);
  if (outcome.kind === "rewrapped") return await replace(db, row, outcome.sealed);
  logFailure("sealed_text_unopenable", { kind: row.kind, id: row.rowId }, new Error(outcome.kind));
  return "unopenable";
}

async function replace(db: Database, row: SealedRow, sealed: string) {
  return (await replaceSealedValue(db, row, sealed)) ? "resealed" : "changed_meanwhile";
}
