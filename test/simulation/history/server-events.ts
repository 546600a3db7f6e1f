/** Server-sent events as a client reads them. */

export type ServerEvent = { readonly id?: string; readonly event?: string; readonly data?: string };

/** Ends with the body, or when the client leaves; what is not a whole event by then does not count. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  gone: AbortSignal,
): AsyncGenerator<ServerEvent, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  let rest = "";
  for (;;) {
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
