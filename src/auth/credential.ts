/** The kinds of credential that the edge issues, distinguished by their prefix. */
const PREFIXES = {
  "api-key": "er_",
  "endpoint-key": "era_",
  "environment-key": "ere_",
  "host-token": "erh_",
  "join-token": "erj_",
  "live-token": "erl_",
  "pod-key": "erp_",
  "sign-in": "ers_",
  "sign-in-link": "erk_",
  "upload-token": "eru_",
} as const;

export type CredentialKind = keyof typeof PREFIXES;

const RANDOM_BYTES = 32;

/** Older credentials have no checksum at their end. */
const FORM = /^(er[a-z]?_[0-9a-f]{64})([0-9a-f]{8})?$/;

/** Makes a new random credential, which ends in a checksum; it is shown once, and only its hash is kept. */
export function generateCredential(kind: CredentialKind): string {
  const credential = credentialOf(kind, crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
  return credential + checksumOf(credential);
}

/** False for a string that generateCredential cannot have made, which needs no look-up. */
export function mayBeIssued(credential: string): boolean {
  const [, issued, checksum] = FORM.exec(credential) ?? [];
  if (issued === undefined) return false;
  return checksum === undefined || checksum === checksumOf(issued);
}

/** Whether a string begins as credentials of this service do: keys of pods and endpoints end with more than these. */
export function resemblesCredential(text: string): boolean {
  return /^er[a-z]?_[0-9a-f]{32}/.test(text);
}

/** CRC-32 in hex, as of gzip. It distinguishes keys from typing errors and invented strings; it is no protection. */
function checksumOf(value: string): string {
  let sum = ~0;
  for (const byte of new TextEncoder().encode(value)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (0xed_b8_83_20 & -(sum & 1));
  }
  return (~sum >>> 0).toString(16).padStart(8, "0");
}

/** The written form of a credential of this kind. */
export function credentialOf(kind: CredentialKind, bytes: Uint8Array): string {
  return PREFIXES[kind] + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the kind of a credential; an API key from the environment may be any string. */
export function kindOfCredential(credential: string): CredentialKind {
  if (credential.startsWith(PREFIXES["endpoint-key"])) return "endpoint-key";
  if (credential.startsWith(PREFIXES["environment-key"])) return "environment-key";
  if (credential.startsWith(PREFIXES["host-token"])) return "host-token";
  if (credential.startsWith(PREFIXES["join-token"])) return "join-token";
  if (credential.startsWith(PREFIXES["live-token"])) return "live-token";
  if (credential.startsWith(PREFIXES["pod-key"])) return "pod-key";
  if (credential.startsWith(PREFIXES["sign-in"])) return "sign-in";
  if (credential.startsWith(PREFIXES["sign-in-link"])) return "sign-in-link";
  if (credential.startsWith(PREFIXES["upload-token"])) return "upload-token";
  return "api-key";
}

/** A header of one of these schemes is meant for a proxy in between, and holds no key of ours. */
const OTHER_SCHEME = /^(?:basic|digest|negotiate|ntlm)\s/i;

/** Takes the credential out of `Bearer <credential>` or of the bare credential; undefined when there is none. */
export function readCredential(headerOrCredential: string | null | undefined): string | undefined {
  const header = (headerOrCredential ?? "").trim();
  if (OTHER_SCHEME.test(header)) return undefined;
  const credential = header.replace(/^bearer(?:\s+|$)/i, "");
  return credential === "" ? undefined : credential;
}
