/** Whether an agent was signed by the installation that this host belongs to. */
import { parseJson } from "../../src/std/json.ts";
import { createHash, createPublicKey, verify } from "node:crypto";
import {
  type AgentSignature,
  agentStatement,
  agentSignatureSchema,
  keyStatement,
  SIGNATURE_SUFFIX,
} from "../../src/contract/agent/agent-signature.ts";

/** Where an edge serves the agent. */
export const AGENT_PATH = "/agent/edgerun-agent.mjs";
export const FETCH_LIMIT_MS = 5 * 60_000;

/** Put in by the deployment that bundles the agent. */
declare const EDGERUN_AGENT_KEY: string;

/** The key by which the next agent must be signed; null for an agent that was deployed without one. */
export const PINNED_KEY: string | null =
  typeof EDGERUN_AGENT_KEY === "undefined" || EDGERUN_AGENT_KEY === "" ? null : EDGERUN_AGENT_KEY;

/** Why a bundle is not taken for an agent of the holder of this key; null where it is one. */
export function signatureIssue(bundle: Buffer, text: string | null, trusted: string): string | null {
  const read = readSignature(text);
  if (typeof read === "string") return read;
  const sha256 = createHash("sha256").update(bundle).digest("hex");
  if (!isSigned(agentStatement(sha256), read.signature, read.key)) return "its signature is not of this file";
  return keyIssue(text, trusted);
}

/** Why the key of a signature is not the trusted one, or one that it was followed by; null where it is. */
export function keyIssue(text: string | null, trusted: string): string | null {
  const read = readSignature(text);
  if (typeof read === "string") return read;
  return latestKey(trusted, read.links) === read.key
    ? null
    : `it is signed by the key ${read.key}, which the key of this host, ${trusted}, has not signed`;
}

/** Downloads the signature of the agent that an edge serves; null if the edge has no signature. */
export async function fetchSignature(edgeUrl: string): Promise<string | null> {
  const limit = AbortSignal.timeout(FETCH_LIMIT_MS);
  const response = await fetch(`${edgeUrl}${AGENT_PATH}${SIGNATURE_SUFFIX}`, {
    signal: limit,
    redirect: "error",
  });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`The signature of the agent: status ${response.status}.`);
  return await response.text();
}

function readSignature(text: string | null): AgentSignature | string {
  if (text === null) return "it is not signed";
  const parsed = agentSignatureSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : "its signature cannot be read";
}

/** Follows the links, in their order, from the key that is trusted. */
function latestKey(trusted: string, links: AgentSignature["links"]): string {
  return links.reduce(
    (key, { from, to, signature }) => (from === key && isSigned(keyStatement(to), signature, key) ? to : key),
    trusted,
  );
}

function isSigned(statement: string, signature: string, key: string): boolean {
  try {
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" });
    return verify(null, Buffer.from(statement), publicKey, Buffer.from(signature, "base64url"));
  } catch {
    return false; // not a point of the curve
  }
}
