import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { decodeFrames, FRAME, type Frame } from "../../src/link/link-frame.ts";
import { encodeJson } from "../../src/link/link-messages.ts";
import { WindowBudget } from "../../src/link/link-window.ts";
import { HttpStream, REQUEST_OVERDUE_MS } from "../../src/forwarding/http-stream.ts";
import { Links } from "../../src/forwarding/links.ts";
import { until } from "./support/until.ts";

const HEAD = encodeJson({ status: 200, statusText: "", headers: [] });
const ID = 1;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 0 }));
afterEach(() => void vi.useRealTimers());

/** A request on the link of a host, and what the host gets. */
function scene() {
  const sent: Frame[] = [];
  const socket = {
    readyState: WebSocket.OPEN,
    deserializeAttachment: () => ({ hostId: "host", workers: ["worker"] }),
    send: (message: Uint8Array) => sent.push(...(decodeFrames(message) ?? [])),
  };
  const links = new Links({ getWebSockets: () => [socket] } as unknown as DurableObjectState);
  links.recover(0);
  const [link] = links.all;
  if (!link) throw new Error("There is no link.");
  const port = {
    id: ID,
    send: (...frames: readonly Omit<Frame, "stream">[]) => link.send(ID, frames),
    become: () => {},
    end: () => void link.streams.delete(ID),
  };
  const stream = new HttpStream({ requestId: "request", workerId: "worker" }, port, new WindowBudget(0));
  link.streams.set(ID, stream);
  stream.send(encodeJson({}), null);
  const take = (type: Frame["type"], payload: Uint8Array): void => {
    stream.take({ type, flags: 0, stream: ID, payload });
    stream.settle();
  };
  const endsAt = (now: number): boolean => {
    links.endOverdue(now);
    return sent.some(({ type }) => type === FRAME.RESET);
  };
  return { stream, take, endsAt };
}

describe("a request whose worker is silent ends after the time of all who may wait for it", () => {
  test("before its answer has begun", async ({ expect }) => {
    const { stream, endsAt } = scene();
    expect(endsAt(REQUEST_OVERDUE_MS)).toBe(false);
    expect(endsAt(REQUEST_OVERDUE_MS + 1)).toBe(true);
    expect(await stream.reply).toMatchObject({ kind: "failed", reason: "timeout" });
  });

  test("counted again from each piece of its answer", async ({ expect }) => {
    const { stream, take, endsAt } = scene();
    vi.setSystemTime(1_000);
    take(FRAME.HEAD, HEAD);
    expect(endsAt(REQUEST_OVERDUE_MS + 1_000)).toBe(false);
    const { body } = (await stream.reply) as { readonly body: ReadableStream<Uint8Array> };
    vi.setSystemTime(2_000);
    const read = body.getReader().read();
    take(FRAME.DATA, new Uint8Array(1));
    await read;
    expect(endsAt(REQUEST_OVERDUE_MS + 2_000)).toBe(false);
    await until(async () => endsAt(REQUEST_OVERDUE_MS + 2_001), "the piece counts as read");
  });

  test("but not while its reader is slow", async ({ expect }) => {
    const { take, endsAt } = scene();
    take(FRAME.HEAD, HEAD);
    take(FRAME.DATA, new Uint8Array(1));
    expect(endsAt(REQUEST_OVERDUE_MS + 1)).toBe(false);
  });
});
