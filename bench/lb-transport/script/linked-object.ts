/** Transport B. One hibernatable WebSocket from the agent; requests and answers are frames on it. */
import { DurableObject } from "cloudflare:workers";
import {
  decodeFrames,
  encodeFrames,
  encodeOpen,
  FLAG_END,
  FRAME,
  type Frame,
} from "../../../src/link/link-frame.ts";
import { WindowBudget, LINK_WINDOWS_BUDGET_BYTES } from "../../../src/link/link-window.ts";
import type { Answer, Body } from "./answer.ts";
import { LinkStream } from "./link-stream.ts";
import { countIncomingMessage, enterObject } from "./meter.ts";

export class LinkedObject extends DurableObject {
  readonly #streams = new Map<number, LinkStream>();
  readonly #budget = new WindowBudget(LINK_WINDOWS_BUDGET_BYTES);
  #lastStream = 0;

  override fetch(): Response {
    enterObject()();
    const { 0: theirs, 1: ours } = new WebSocketPair();
    this.ctx.acceptWebSocket(ours);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** A client's request. */
  async forward(head: Uint8Array, body: Body, isLengthKnown: boolean): Promise<Answer> {
    const leave = enterObject();
    const [link] = this.ctx.getWebSockets();
    if (!link) throw new Error("There is no link.");
    this.#lastStream += 1;
    const number = this.#lastStream;
    const send = (frames: readonly Frame[]) => link.send(encodeFrames(frames));
    const stream = new LinkStream(number, this.#budget, send, () => {
      this.#streams.delete(number);
      leave();
    });
    this.#streams.set(number, stream);
    const open = {
      type: FRAME.OPEN,
      flags: 0,
      stream: number,
      payload: encodeOpen({ workerId: "worker" }, head),
    };
    if (body === null) send([{ ...open, flags: FLAG_END }]);
    else if (body instanceof Uint8Array) {
      const data = { type: FRAME.DATA, flags: FLAG_END, stream: number, payload: body };
      send([{ ...open, flags: FLAG_END }, data]);
    } else {
      send([open]);
      this.ctx.waitUntil(stream.upload(body, isLengthKnown));
    }
    return stream.answer;
  }

  override webSocketMessage(_link: WebSocket, message: ArrayBuffer): void {
    countIncomingMessage();
    const frames = decodeFrames(new Uint8Array(message)) ?? [];
    for (const [at, frame] of frames.entries()) {
      const next = frames[at + 1];
      const isWhole = next?.stream === frame.stream && (next.flags & FLAG_END) !== 0;
      this.#streams.get(frame.stream)?.receive(frame, isWhole ? next.payload : null);
    }
  }
}
