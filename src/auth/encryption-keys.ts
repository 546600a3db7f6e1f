/**
 * The keys of the environment under which the edge keeps what it must be able to read again, newest first:
 * `<id>:<base64 of 32 bytes>,<id>:…`. The first one is used for whatever is new; all others only read, so a
 * key is changed without a pause by putting a new one in front.
 */
import * as z from "zod";

export type EncryptionKey = { readonly id: string; readonly bytes: Uint8Array<ArrayBuffer> };

const KEY_BYTES = 32;

const keysSchema = z
  .string()
  .transform((setting) =>
    setting
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ""),
  )
  .pipe(
    z.array(
      z
        .string()
        .regex(/^[a-z0-9-]{1,32}:[A-Za-z0-9+/]{43}=$/)
        .transform((entry): EncryptionKey => {
          const [id = "", base64 = ""] = entry.split(":");
          return { id, bytes: Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)) };
        }),
    ),
  )
  .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length);

/** The configured keys; none when nothing is configured. Throws, without naming a key, when they are unreadable. */
export function readEncryptionKeys({
  ENCRYPTION_KEYS: setting = "",
}: {
  readonly ENCRYPTION_KEYS?: string;
}): readonly EncryptionKey[] {
  const parsed = keysSchema.safeParse(setting);
  if (parsed.success) return parsed.data;
  throw new Error(
    `ENCRYPTION_KEYS must be a comma list of <id>:<base64 of ${KEY_BYTES} bytes>, newest first, each id once.`,
  );
}
