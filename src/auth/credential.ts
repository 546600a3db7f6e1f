/** The kinds of credential that the edge gives out, told apart by their prefix. */
const PREFIXES = {
  "api-key": "er_",
  "endpoint-key": "era_",
  "environment-key": "ere_",
  "host-token": "erh_",
  "join-token": "erj_",
  "live-token": "erl_",
  "upload-token": "eru_",
} as const;

export type CredentialKind = keyof typeof PREFIXES;

const RANDOM_BYTES = 32;

/** Makes a new random credential; it is shown once, and only its hash is kept. */
export function generateCredential(kind: CredentialKind): string {
  return credentialOf(kind, crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
}

/** The written form of a credential of this kind. */
export function credentialOf(kind: CredentialKind, bytes: Uint8Array): string {
  return PREFIXES[kind] + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Says of what kind a credential is; an API key from the environment may be any string. */
export function kindOfCredential(credential: string): CredentialKind {
  if (credential.startsWith(PREFIXES["endpoint-key"])) return "endpoint-key";
  if (credential.startsWith(PREFIXES["environment-key"])) return "environment-key";
  if (credential.startsWith(PREFIXES["host-token"])) return "host-token";
  if (credential.startsWith(PREFIXES["join-token"])) return "join-token";
  if (credential.startsWith(PREFIXES["live-token"])) return "live-token";
  if (credential.startsWith(PREFIXES["upload-token"])) return "upload-token";
  return "api-key";
}

/** Takes the credential out of `Bearer <credential>` or of the bare credential. */
export function readCredential(headerOrCredential: string | null | undefined): string | undefined {
  const credential = (headerOrCredential ?? "").trim().replace(/^bearer(?:\s+|$)/i, "");
  return credential === "" ? undefined : credential;
}
