/** States of a WebSocket, as the package `ws` numbers them. */
export const READY_STATE = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 } as const;
