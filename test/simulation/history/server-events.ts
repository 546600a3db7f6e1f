/** Server-sent events as a client reads them. */
import type { Random } from "../world/random.ts";

export type ServerEvent = { readonly id?: string; readonly event?: string; readonly data?: string };

/** Typical time before each read of a client. */
const READ_AFTER_MS: readonly number[] = [0, 0, 0, 2_000];

/** For one client: what passes before each of its reads. While a slow one does not read, the edge cannot write. */
export function readingPace(random: Random): () => Promise<void> {
  const afterMs = random.pick(READ_AFTER_MS);
  if (afterMs === 0) return async () => {};
  return async () => await new Promise((resolve) => setTimeout(resolve, random.delay(afterMs)));
}

/** Ends with the body, or when the client leaves; what is not a whole event by then does not count. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  gone: AbortSignal,
  pace: () => Promise<void> = async () => {},
): AsyncGenerator<ServerEvent, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  let rest = "";
  for (;;) {
    await pace();
    const { done, value } = await reader.read();
    if (done || gone.aborted) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) yield fieldsOf(event);
  }
}

function fieldsOf(event: string): ServerEvent {
  const fields = event.split("\n").map((line): [string, string] => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
  return Object.fromEntries(fields.filter(([name]) => name !== ""));
}
