/**
 * The frames of a link: the WebSocket over which an agent serves requests of load-balanced endpoints.
 *
 * A message of the WebSocket holds one frame or several, one after the other. A frame belongs to a stream, which is
 * one request and its answer; stream 0 is the link itself. Numbers are big-endian.
 *
 *   type u8 | flags u8 | stream u32 | length of the payload u32 | payload
 *
 * E = sent by the edge, A = sent by the agent.
 *
 * L1  The edge opens streams and never uses a number twice on one link.
 * L2  A side sends END when it sends nothing more; when both have sent it, the stream is over. RESET ends it at once.
 *     What arrives for a stream that is over is dropped; a side that does not know a stream at all answers RESET.
 * L3  Bytes of DATA and MESSAGE are sent only within the credit that the receiver gave, LINK_WINDOW_BYTES to begin
 *     with; so a request whose data is not read does not block others, and memory is bounded on both sides.
 */

/** Payload of one frame: small, so that streams take turns often. */
export const LINK_FRAME_MAX_BYTES = 64 * 1024;

export const FRAME = {
  /** E: payload as `encodeOpen` makes it. END: the request has no body. */
  OPEN: 1,
  /** A: the head of the answer, JSON. For a WebSocket status 101 means that it is open. */
  HEAD: 2,
  /** Bytes of a body; may be empty with END. */
  DATA: 3,
  /** A piece of a text message of a WebSocket; FIN with the last. */
  TEXT: 4,
  /** The same of a binary message. */
  BINARY: 5,
  /** A WebSocket is closed: JSON {code, reason}. Both sides send one; then the stream is over. */
  CLOSE: 6,
  /** So many more bytes may be sent: u32. */
  CREDIT: 7,
  /** The stream is over: JSON {reason, detail}. */
  RESET: 8,
  /** A, stream 0: JSON {workers}: ids of the workers that take requests now, all of them. */
  WORKERS: 9,
  /** A, stream 0, without payload: sent each LINK_BEAT_MS while there is a request, so that silence is noticed. */
  BEAT: 10,
} as const;
export type FrameType = (typeof FRAME)[keyof typeof FRAME];

export const FLAG_END = 1;
/** The last piece of a WebSocket's message. */
export const FLAG_FIN = 2;

export type Frame = {
  readonly type: FrameType;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
};

const HEADER_BYTES = 10;
const TYPES = new Set<number>(Object.values(FRAME));
export const NO_PAYLOAD = new Uint8Array(0);

/** One message of the frames, in their order. */
export function encodeFrames(frames: readonly Frame[]): Uint8Array<ArrayBuffer> {
  const length = frames.reduce((sum, { payload }) => sum + HEADER_BYTES + payload.byteLength, 0);
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { type, flags, stream, payload } of frames) {
    view.setUint8(at, type);
    view.setUint8(at + 1, flags);
    view.setUint32(at + 2, stream);
    view.setUint32(at + 6, payload.byteLength);
    bytes.set(payload, at + HEADER_BYTES);
    at += HEADER_BYTES + payload.byteLength;
  }
  return bytes;
}

/** The frames of a message, as views on it; undefined when it is not a message of a link. */
export function decodeFrames(message: Uint8Array): readonly Frame[] | undefined {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  const frames: Frame[] = [];
  for (let at = 0; at < message.byteLength;) {
    if (at + HEADER_BYTES > message.byteLength) return undefined;
    const type = view.getUint8(at);
    const end = at + HEADER_BYTES + view.getUint32(at + 6);
    if (!TYPES.has(type) || end > message.byteLength) return undefined;
    const payload = message.subarray(at + HEADER_BYTES, end);
    frames.push({
      type: type as FrameType,
      flags: view.getUint8(at + 1),
      stream: view.getUint32(at + 2),
      payload,
    });
    at = end;
  }
  return frames;
}

/** Who shall answer: a worker, or what listens on a port of a pod. */
export type OpenTarget = { readonly workerId: string; readonly port?: number };

/** Payload of OPEN: the target, `<worker id>` or `<pod id>:<port>`, and the head of the request. */
export function encodeOpen({ workerId, port }: OpenTarget, head: Uint8Array): Uint8Array {
  const target = port === undefined ? workerId : `${workerId}:${port}`;
  const bytes = new Uint8Array(1 + target.length + head.byteLength);
  bytes[0] = target.length; // an id has 128 characters at most, all of them ASCII
  for (let at = 0; at < target.length; at += 1) bytes[1 + at] = target.charCodeAt(at);
  bytes.set(head, 1 + target.length);
  return bytes;
}

/** Undefined for a payload that is not valid for OPEN. */
export function decodeOpen(payload: Uint8Array): (OpenTarget & { readonly head: Uint8Array }) | undefined {
  const end = 1 + (payload[0] ?? 0);
  if (end === 1 || end > payload.byteLength) return undefined;
  const target = String.fromCharCode(...payload.subarray(1, end));
  const [workerId = "", port] = target.split(":");
  const head = payload.subarray(end);
  return port === undefined ? { workerId, head } : { workerId, port: Number(port), head };
}

export function encodeCredit(bytes: number): Uint8Array {
  const payload = new Uint8Array(4);
  new DataView(payload.buffer).setUint32(0, bytes);
  return payload;
}

/** Undefined for a payload that is no credit. */
export function decodeCredit(payload: Uint8Array): number | undefined {
  if (payload.byteLength !== 4) return undefined;
  return new DataView(payload.buffer, payload.byteOffset, 4).getUint32(0);
}
