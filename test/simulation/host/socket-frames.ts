/** The frames of a WebSocket between an agent and the server of a container: each is one piece of their exchange. */

export type SocketFrame =
  | { readonly kind: "text" | "binary"; readonly isLast: boolean; readonly payload: Uint8Array }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

/** A close without a code. */
export const NO_CODE = 1005;
/** None came. */
export const NO_CLOSE = 1006;

const KINDS = ["text", "binary", "close"] as const;
const LAST = 0x80;

export function encodeFrame(frame: SocketFrame): Uint8Array {
  const kind = KINDS.indexOf(frame.kind);
  if (frame.kind !== "close")
    return Buffer.concat([Buffer.of(kind | (frame.isLast ? LAST : 0)), frame.payload]);
  const code = Buffer.alloc(2);
  code.writeUInt16BE(frame.code);
  return Buffer.concat([Buffer.of(kind), code, Buffer.from(frame.reason)]);
}

export function decodeFrame(piece: Uint8Array): SocketFrame {
  const bytes = Buffer.from(piece);
  const first = bytes.readUInt8();
  const kind = KINDS[first & ~LAST] ?? "close";
  if (kind !== "close") return { kind, isLast: (first & LAST) !== 0, payload: bytes.subarray(1) };
  return { kind, code: bytes.readUInt16BE(1), reason: bytes.subarray(3).toString() };
}

/** Puts messages together again that came in several frames. */
export class WholeMessages {
  #pieces: Uint8Array[] = [];

  /** Undefined until the last frame of a message. */
  add(frame: SocketFrame & { readonly kind: "text" | "binary" }): Buffer | undefined {
    this.#pieces.push(frame.payload);
    return frame.isLast ? Buffer.concat(this.#pieces.splice(0)) : undefined;
  }
}
