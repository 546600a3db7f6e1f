/** Counts what is billed, for the whole script. */
const INCOMING_MESSAGES_PER_REQUEST = 20;

const counts = { workerRequests: 0, objectCalls: 0, incomingMessages: 0 };
let inside = 0;
let since = 0;
let awakeMs = 0;

export function countWorkerRequest(): void {
  counts.workerRequests += 1;
}

export function countIncomingMessage(): void {
  counts.incomingMessages += 1;
}

/** A call of the object that keeps it awake until the returned function is called. */
export function enterObject(isBilled = true): () => void {
  if (isBilled) counts.objectCalls += 1;
  if (inside === 0) since = performance.now();
  inside += 1;
  let isInside = true;
  return () => {
    if (!isInside) return;
    isInside = false;
    inside -= 1;
    if (inside === 0) awakeMs += performance.now() - since;
  };
}

export function readMeter() {
  const objectRequests = counts.objectCalls + counts.incomingMessages / INCOMING_MESSAGES_PER_REQUEST;
  const awakeNowMs = inside > 0 ? performance.now() - since : 0;
  return { ...counts, objectRequests, objectSeconds: (awakeMs + awakeNowMs) / 1_000 };
}
