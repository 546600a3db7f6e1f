/** The key of the environment, which the operator chooses. */

/** ROOT_API_KEY opens all accounts and may have been typed by a human. */
export const ROOT_API_KEY_MIN_CHARACTERS = 32;

/** Why this key is not allowed as ROOT_API_KEY, without repeating it; undefined for a valid key, and for no key. */
export function problemOfRootKey(key: string | undefined): string | undefined {
  if (key === undefined || key === "" || key.length >= ROOT_API_KEY_MIN_CHARACTERS) return undefined;
  return (
    `ROOT_API_KEY has ${key.length} characters; it opens every account, so it must have at least ` +
    `${ROOT_API_KEY_MIN_CHARACTERS}. Make one with: openssl rand -hex 32`
  );
}
