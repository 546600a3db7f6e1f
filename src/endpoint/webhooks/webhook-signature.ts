/**
 * Signatures as in Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`.
 *
 * The body may be large and come as a stream, which WebCrypto's HMAC does not take. HMAC is two rounds of the
 * hash (RFC 2104), and the runtime's DigestStream hashes a stream.
 */
const BLOCK_BYTES = 64;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
const SECRET_PREFIX = "whsec_";

/** The `webhook-signature` header: one signature for each secret. */
export async function signatures(
  secrets: readonly string[],
  head: string,
  body: () => AsyncIterable<Uint8Array>,
): Promise<string> {
  const rounds = await Promise.all(secrets.map((secret) => InnerRound.open(keyOf(secret))));
  const prefix = new TextEncoder().encode(head);
  await Promise.all(rounds.map((round) => round.add(prefix)));
  for await (const chunk of body()) await Promise.all(rounds.map((round) => round.add(chunk)));
  const signed = await Promise.all(rounds.map((round) => round.finish()));
  return signed.map((signature) => `v1,${signature}`).join(" ");
}

class InnerRound {
  readonly #key: Uint8Array;
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#digest.getWriter();

  private constructor(key: Uint8Array) {
    this.#key = key;
  }

  static async open(key: Uint8Array): Promise<InnerRound> {
    const round = new InnerRound(key);
    await round.add(padded(key, INNER_PAD));
    return round;
  }

  async add(chunk: Uint8Array): Promise<void> {
    await this.#writer.write(chunk);
  }

  /** The signature, in base64. */
  async finish(): Promise<string> {
    await this.#writer.close();
    const inner = new Uint8Array(await this.#digest.digest);
    const outer = new Uint8Array(BLOCK_BYTES + inner.byteLength);
    outer.set(padded(this.#key, OUTER_PAD));
    outer.set(inner, BLOCK_BYTES);
    const signature = new Uint8Array(await crypto.subtle.digest("SHA-256", outer));
    return btoa(String.fromCharCode(...signature));
  }
}

/** Keys are 24 to 64 bytes, so none is longer than a block. */
function keyOf(secret: string): Uint8Array {
  const text = atob(secret.slice(SECRET_PREFIX.length));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function padded(key: Uint8Array, pad: number): Uint8Array {
  return Uint8Array.from({ length: BLOCK_BYTES }, (_, index) => (key[index] ?? 0) ^ pad);
}
