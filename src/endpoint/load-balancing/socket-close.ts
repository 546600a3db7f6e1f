/** Closing WebSockets: which codes may be sent, and what becomes of the others. */
import type { Close } from "../../link/link-messages.ts";

export const CLOSE_CODE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  tooLarge: 1009,
  internal: 1011,
  tryLater: 1013,
} as const;

/** What a side sees that was told nothing, that lost the connection, or whose TLS failed. */
const NO_STATUS = 1005;
const NEVER_SENT = new Set([1004, 1006, 1015]);
const REASON_MAX_BYTES = 123;

const encoder = new TextEncoder();

/** A close as it may be sent on. */
export function sendable({ code, reason }: Close): Close {
  if (code === NO_STATUS) return { code: CLOSE_CODE.normal, reason: "" };
  if (NEVER_SENT.has(code)) return { code: CLOSE_CODE.goingAway, reason: cut(reason) };
  return { code, reason: cut(reason) };
}

/** Closes a socket that may be closed already. */
export function closeSocket(socket: WebSocket, close: Close): void {
  const { code, reason } = sendable(close);
  try {
    socket.close(code, reason);
  } catch {
    // It has just closed.
  }
}

function cut(reason: string): string {
  const { read } = encoder.encodeInto(reason, new Uint8Array(REASON_MAX_BYTES));
  return reason.slice(0, read);
}
