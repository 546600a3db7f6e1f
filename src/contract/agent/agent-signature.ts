/**
 * How an installation signs the agent that it serves, beside the agent as `edgerun-agent.mjs.sig`. Keys are Ed25519;
 * a public key is written as 32 bytes in base64url, a signature as 64.
 */
import * as z from "zod";

export const SIGNATURE_SUFFIX = ".sig";
const LINKS_MAX = 64;

const key = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/);

export const agentSignatureSchema = z.object({
  /** Signs the agent. */
  key,
  signature,
  /** How this key came after earlier ones, the earliest first: each is signed by the one before. */
  links: z.array(z.object({ from: key, to: key, signature })).max(LINKS_MAX),
});
export type AgentSignature = z.infer<typeof agentSignatureSchema>;

/** What the signature of an agent signs. */
export function agentStatement(sha256: string): string {
  return `edgerun agent\n${sha256}\n`;
}

/** What the signature of a link signs. */
export function keyStatement(to: string): string {
  return `edgerun agent key\n${to}\n`;
}
