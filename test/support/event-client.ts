/** A client of event streams that goes on after a broken connection, as a browser does. */
import { setTimeout as delay } from "node:timers/promises";

type Target = { readonly baseUrl: string; readonly apiKey: string; readonly endpointId: string };

export type StreamEvent = {
  readonly event: string;
  readonly id: number;
  readonly data: unknown;
  readonly receivedAt: number;
};

const AGAIN_MS = 50;

/** All events of a job's stream, up to the one with its final status. */
export async function* readEvents(target: Target, jobId: string): AsyncGenerator<StreamEvent> {
  let lastId = 0;
  for (;;) {
    try {
      for await (const event of readConnection(target, jobId, lastId)) {
        yield event;
        if (event.event === "status") return;
        lastId = event.id;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // what fetch throws when there is no connection
    }
    // oxlint-disable-next-line edgerun/no-sleeps -- a client connects again until the caller stops it
    await delay(AGAIN_MS);
  }
}

async function* readConnection(
  { baseUrl, apiKey, endpointId }: Target,
  jobId: string,
  lastId: number,
): AsyncGenerator<StreamEvent> {
  const response = await fetch(`${baseUrl}/v2/${endpointId}/stream/${jobId}`, {
    headers: {
      Authorization: `Bearer ${apiKey}`,
      Accept: "text/event-stream",
      ...(lastId > 0 && { "Last-Event-ID": String(lastId) }),
    },
  });
  if (response.status !== 200)
    throw new Error(`stream answered ${response.status}: ${await response.text()}`);
  if (!response.body) return;
  let text = "";
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readEvent(block);
      if (event) yield event;
    }
  }
}

function readEvent(block: string): StreamEvent | undefined {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
  const data = field("data");
  if (data === undefined) return undefined; // a comment
  return {
    event: field("event") ?? "message",
    id: Number(field("id") ?? 0),
    data: JSON.parse(data) as unknown,
    receivedAt: performance.timeOrigin + performance.now(),
  };
}
