/** The key with which an installation signs its agent; created by the first deployment, on the machine that deploys. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import {
  type AgentSignature,
  agentSignatureSchema,
  agentStatement,
  keyStatement,
} from "../../src/contract/agent/agent-signature.ts";

const storedSchema = z.object({
  /** PKCS #8 in PEM. */
  privateKey: z.string(),
  links: agentSignatureSchema.shape.links,
});
type Stored = z.infer<typeof storedSchema>;

/** Where the key of an installation is stored. */
export function signingKeyPath(root: string): string {
  return join(root, ".edgerun/agent-signing-key");
}

export class AgentSigner {
  readonly #privateKey: KeyObject;
  readonly #links: AgentSignature["links"];

  private constructor({ privateKey, links }: Stored) {
    this.#privateKey = createPrivateKey(privateKey);
    this.#links = links;
  }

  /** The key in this file; undefined if the file does not exist. Throws if it cannot be read. */
  static read(path: string): AgentSigner | undefined {
    try {
      return new AgentSigner(storedSchema.parse(JSON.parse(readFileSync(path, "utf8"))));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new Error(`${path} is not a key for signing the agent. Restore it from a copy.`, {
        cause: error,
      });
    }
  }

  /** Creates a key and stores it in the file, signed by the previous key if there is one. */
  static async make(path: string, before?: AgentSigner): Promise<AgentSigner> {
    const { privateKey } = generateKeyPairSync("ed25519");
    const to = publicText(privateKey);
    const earlier = before === undefined ? [] : before.#links;
    const link = before && { from: before.publicKey, to, signature: before.#sign(keyStatement(to)) };
    const stored: Stored = {
      privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      links: [...earlier, ...(link ? [link] : [])],
    };
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
    return new AgentSigner(stored);
  }

  get publicKey(): string {
    return publicText(this.#privateKey);
  }

  /** The content of the file that is served beside the agent. */
  signatureOf(agent: Buffer): string {
    const sha256 = createHash("sha256").update(agent).digest("hex");
    const signature = this.#sign(agentStatement(sha256));
    const signed: AgentSignature = { key: this.publicKey, signature, links: this.#links };
    return `${JSON.stringify(signed)}\n`;
  }

  #sign(statement: string): string {
    return sign(null, Buffer.from(statement), this.#privateKey).toString("base64url");
  }
}

function publicText(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  if (x === undefined) throw new Error("the public key has no text");
  return x;
}
