import { describe, test } from "vitest";
import {
  decodeFrames,
  FLAG_END,
  FRAME,
  NO_PAYLOAD,
  LINK_FRAME_MAX_BYTES,
} from "../../src/link/link-frame.ts";
import { WindowBudget, LINK_WINDOW_BYTES } from "../../src/link/link-window.ts";
import { Channel } from "./channel.ts";
import { type MessageSocket, SendScheduler } from "./send-scheduler.ts";

const HEAD = new Uint8Array([123, 125]);
const NAMES = Object.fromEntries(Object.entries(FRAME).map(([name, type]) => [type, name]));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A socket whose buffer the test drains. */
class SlowSocket implements MessageSocket {
  bufferedAmount = 0;
  readonly messages: Uint8Array[] = [];
  #sent: (() => void)[] = [];

  send(message: Uint8Array, sent: () => void): void {
    this.bufferedAmount += message.byteLength;
    this.messages.push(message);
    this.#sent.push(sent);
  }

  drain(): void {
    const sent = this.#sent;
    this.#sent = [];
    this.bufferedAmount = 0;
    for (const resolve of sent) resolve();
  }

  /** What was sent, message by message, in frames: "DATA 1" is a frame of stream 1, "DATA! 1" its last. */
  get frames(): string[][] {
    return this.messages.map((message) =>
      (decodeFrames(message) ?? []).map(
        ({ type, flags, stream }) => `${NAMES[type]}${(flags & FLAG_END) === 0 ? "" : "!"} ${stream}`,
      ),
    );
  }
}

function link() {
  const socket = new SlowSocket();
  const turns = new SendScheduler(socket);
  const budget = new WindowBudget(0);
  const open = (stream: number) => new Channel({ stream, scheduler: turns, budget, onOver: () => {} });
  return { socket, turns, open };
}

function answer(channel: Channel, bytes: number): void {
  channel.head(HEAD);
  channel.send(FRAME.DATA, new Uint8Array(bytes));
  channel.end();
}

describe("the turns of a link", () => {
  test("join what is ready in one turn of the event loop, and keep answers whole", async ({ expect }) => {
    const { socket, turns, open } = link();
    answer(open(1), 10);
    answer(open(2), 20);
    turns.sendFirst({ type: FRAME.BEAT, flags: 0, stream: 0, payload: NO_PAYLOAD });
    await nextTurn();
    expect(socket.frames).toEqual([["BEAT 0", "HEAD 1", "DATA! 1", "HEAD 2", "DATA! 2"]]);
  });

  test("put little into the socket, and new answers before the rest of old ones", async ({ expect }) => {
    const { socket, open } = link();
    const pouring = [open(1), open(2)];
    for (const channel of pouring) {
      channel.credited(10 * LINK_FRAME_MAX_BYTES);
      answer(channel, 8 * LINK_FRAME_MAX_BYTES);
    }
    await nextTurn();
    expect(socket.frames).toEqual([
      ["HEAD 1", "DATA 1"],
      ["HEAD 2", "DATA 2"],
    ]);
    answer(open(3), 5);
    await nextTurn();
    expect(socket.messages).toHaveLength(2); // its buffer is full
    socket.drain();
    expect(socket.frames.slice(2, 4)).toEqual([
      ["HEAD 3", "DATA! 3", "DATA 1"],
      ["DATA 2", "DATA 1"],
    ]);
    for (let round = 0; round < 10; round += 1) socket.drain();
    expect(socket.frames[4]).toEqual(["DATA 2", "DATA 1", "DATA 2"]); // no answer begins, and the buffer is empty
    const rest = socket.frames.slice(3).flat();
    expect(rest.slice(-4)).toEqual(["DATA 1", "DATA 2", "DATA! 1", "DATA! 2"]);
    expect(rest.map((frames) => frames.at(-1))).toEqual(rest.map((_, at) => (at % 2 === 0 ? "2" : "1")));
    expect(socket.frames.flat().filter((frames) => frames.startsWith("DATA"))).toHaveLength(17);
  });

  test("pass over a stream without credit until there is some", async ({ expect }) => {
    const { socket, open } = link();
    const unread = open(1);
    answer(unread, LINK_WINDOW_BYTES + 1);
    answer(open(2), 5);
    await nextTurn();
    socket.drain();
    expect(socket.frames.flat()).toEqual(["HEAD 1", "DATA 1", "HEAD 2", "DATA! 2"]);
    unread.credited(1);
    await nextTurn();
    expect(socket.frames.at(-1)).toEqual(["DATA! 1"]);
  });

  test("send nothing more of a stream that has failed but the reason", async ({ expect }) => {
    const { socket, open } = link();
    const failing = open(1);
    answer(failing, 5);
    failing.fail("worker_failed", "broken");
    failing.fail("worker_failed", "twice");
    await nextTurn();
    expect(socket.frames).toEqual([["RESET 1"]]);
  });

  test("ask for more of a stream when its turn has made room", async ({ expect }) => {
    const { open } = link();
    const channel = open(1);
    let asked = 0;
    channel.onDrain = () => (asked += 1);
    channel.head(HEAD);
    channel.send(FRAME.DATA, new Uint8Array(LINK_FRAME_MAX_BYTES - 1));
    expect(channel.isFull).toBe(false);
    channel.send(FRAME.DATA, new Uint8Array(LINK_FRAME_MAX_BYTES + 1));
    expect(channel.isFull).toBe(true);
    await nextTurn();
    expect(asked).toBe(0); // the window is used up
    channel.credited(LINK_FRAME_MAX_BYTES);
    await nextTurn();
    expect(asked).toBe(1);
  });
});
