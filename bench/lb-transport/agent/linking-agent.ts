/** The agent of transport B: one WebSocket, on which requests and answers are frames. */
import WebSocket from "ws";
import {
  decodeCredit,
  decodeFrames,
  decodeOpen,
  encodeCredit,
  encodeFrames,
  FLAG_END,
  FRAME,
  type Frame,
  NO_PAYLOAD,
  LINK_FRAME_MAX_BYTES,
} from "../../../src/link/link-frame.ts";
import {
  ReceiveWindow,
  SendWindow,
  WindowBudget,
  LINK_WINDOWS_BUDGET_BYTES,
} from "../../../src/link/link-window.ts";
import { callWorker, encodeAnswerHead, type RequestHead, type WorkerCall, wholeBody } from "./worker-call.ts";

/** What may stand in the socket's buffer before a body gets more of it, so that others wait behind little. */
const BUFFER_MAX_BYTES = 256 * 1024;

export function startLinkingAgent(edge: string, workerPort: number): void {
  const link = new WebSocket(`${edge.replace("http", "ws")}/link`, {
    perMessageDeflate: false,
    generateMask: (mask) => mask.fill(0), // a mask of zeros need not be laid on
  });
  const streams = new Map<number, AgentStream>();
  const budget = new WindowBudget(LINK_WINDOWS_BUDGET_BYTES);
  const outlet = new Outlet(link);
  link.on("message", (message: Buffer) => {
    for (const frame of decodeFrames(message) ?? []) {
      if (frame.type === FRAME.OPEN) {
        const over = () => streams.delete(frame.stream);
        streams.set(frame.stream, new AgentStream(frame, workerPort, { budget, outlet, over }));
      } else streams.get(frame.stream)?.receive(frame);
    }
  });
}

/** The socket, on which what is sent in one turn of the event loop goes as one message: a message costs, a byte does not. */
class Outlet {
  readonly #link: WebSocket;
  #frames: Frame[] = [];
  #waiting: (() => void)[] = [];

  constructor(link: WebSocket) {
    this.#link = link;
  }

  send(...frames: readonly Frame[]): void {
    if (this.#frames.length === 0) setImmediate(() => this.#flush());
    this.#frames.push(...frames);
  }

  /** Resolves when the buffer of the socket can take more of a body. */
  async drained(): Promise<void> {
    while (this.#link.bufferedAmount > BUFFER_MAX_BYTES) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #flush(): void {
    this.#link.send(encodeFrames(this.#frames), () => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resolve of waiting) resolve();
    });
    this.#frames = [];
  }
}

type Port = { readonly budget: WindowBudget; readonly outlet: Outlet; readonly over: () => void };

class AgentStream {
  readonly #number: number;
  readonly #outlet: Outlet;
  readonly #call: WorkerCall["call"];
  readonly #receiving: ReceiveWindow;
  readonly #sending = new SendWindow();
  #isOver = false;

  constructor(open: Frame, workerPort: number, { budget, outlet, over }: Port) {
    this.#number = open.stream;
    this.#outlet = outlet;
    this.#receiving = new ReceiveWindow(budget);
    const head = JSON.parse(
      Buffer.from(decodeOpen(open.payload)?.head ?? NO_PAYLOAD).toString(),
    ) as RequestHead;
    const { call, answer } = callWorker(workerPort, head);
    this.#call = call;
    if ((open.flags & FLAG_END) !== 0 && !head.headers.some(([name]) => name === "content-length"))
      call.end();
    void this.#answer(answer)
      .catch(() => {}) // reset
      .finally(() => {
        this.#receiving.close();
        over();
      });
  }

  receive({ type, flags, payload }: Frame): void {
    if (type === FRAME.CREDIT) this.#sending.credited(decodeCredit(payload) ?? 0);
    else if (type === FRAME.DATA) this.#data(payload, (flags & FLAG_END) !== 0);
    else if (type === FRAME.RESET) {
      this.#isOver = true;
      this.#sending.close();
      this.#call.destroy();
    }
  }

  #data(payload: Uint8Array, isEnd: boolean): void {
    if (isEnd) return void this.#call.end(payload);
    this.#receiving.received(payload.byteLength);
    this.#call.write(payload, () => {
      const credit = this.#receiving.consumed(payload.byteLength);
      if (credit > 0) this.#outlet.send(this.#frame(FRAME.CREDIT, encodeCredit(credit)));
    });
  }

  async #answer(answer: WorkerCall["answer"]): Promise<void> {
    const message = await answer;
    const head = this.#frame(FRAME.HEAD, encodeAnswerHead(message));
    const whole = await wholeBody(message);
    if (whole) return this.#outlet.send(head, this.#frame(FRAME.DATA, whole, FLAG_END));
    this.#outlet.send(head);
    for await (const piece of message) await this.#piece(piece as Buffer);
    this.#outlet.send(this.#frame(FRAME.DATA, NO_PAYLOAD, FLAG_END));
  }

  async #piece(piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.byteLength;) {
      await this.#sending.untilOpen();
      await this.#outlet.drained();
      if (this.#isOver) return;
      const bytes = Math.min(piece.byteLength - at, LINK_FRAME_MAX_BYTES, this.#sending.open);
      this.#sending.sent(bytes);
      this.#outlet.send(this.#frame(FRAME.DATA, piece.subarray(at, at + bytes)));
      at += bytes;
    }
  }

  #frame(type: Frame["type"], payload: Uint8Array, flags = 0): Frame {
    return { type, flags, stream: this.#number, payload };
  }
}
