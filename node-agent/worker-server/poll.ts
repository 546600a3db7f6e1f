import type { ServerResponse } from "node:http";
import type { ReceivedBody } from "./bodies.ts";

/** A request of a worker that waits for its reply. */
export class Poll {
  readonly beganAt = performance.now();
  readonly #response: ServerResponse;
  #isOpen = true;

  constructor(response: ServerResponse, onGone: () => void) {
    this.#response = response;
    response.once("close", () => {
      if (!this.#isOpen) return;
      this.#isOpen = false;
      onGone();
    });
  }

  /** Sends JSON text. True once the whole reply was passed to a live socket. */
  send(body: string): Promise<boolean> {
    if (!this.#take()) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#response.once("finish", () => resolve(this.#response.socket?.destroyed !== true));
      this.#response.once("close", () => resolve(false));
      this.#response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
  }

  /** Answers that there is nothing. */
  end(): void {
    if (this.#take()) this.#response.writeHead(204).end();
  }

  /** From here on the poll is answered; false when its peer has gone. */
  #take(): boolean {
    const isLive = this.#isOpen && !this.#response.destroyed && this.#response.socket?.destroyed !== true;
    this.#isOpen = false;
    return isLive;
  }
}

/** The polls of one kind that a worker has open, oldest first. Each is answered after its hold. */
export class PollQueue<Value> {
  readonly #onChange: () => void;
  readonly #onTimeout: (poll: Poll) => void;
  readonly #entries = new Map<Poll, { readonly value: Value; readonly timer: NodeJS.Timeout }>();

  /** `onTimeout`: ends a poll whose hold is over; there is nothing for it. */
  constructor(onChange: () => void, onTimeout = (poll: Poll) => poll.end()) {
    this.#onChange = onChange;
    this.#onTimeout = onTimeout;
  }

  add(poll: Poll, value: Value, holdMs: number): void {
    const timer = setTimeout(() => {
      if (!this.#remove(poll)) return;
      this.#onTimeout(poll);
      this.#onChange();
    }, holdMs);
    this.#entries.set(poll, { value, timer });
    this.#onChange();
  }

  /** Forgets a poll whose peer has gone. */
  drop(poll: Poll): void {
    if (this.#remove(poll)) this.#onChange();
  }

  /** Takes the oldest poll out; its owner must answer it. */
  shift(): { readonly poll: Poll; readonly value: Value } | undefined {
    const [first] = this.#entries;
    if (!first) return undefined;
    const [poll, { value }] = first;
    this.#remove(poll);
    return { poll, value };
  }

  endAll(): void {
    for (const poll of [...this.#entries.keys()]) this.#end(poll);
  }

  values(): Value[] {
    return [...this.#entries.values()].map((entry) => entry.value);
  }

  #end(poll: Poll): void {
    if (!this.#remove(poll)) return;
    poll.end();
    this.#onChange();
  }

  #remove(poll: Poll): boolean {
    const entry = this.#entries.get(poll);
    if (!entry) return false;
    clearTimeout(entry.timer);
    return this.#entries.delete(poll);
  }
}

/** The calls of a container to its agent. */
export interface WorkerCalls {
  take(poll: Poll, maxJobs: number, hasJobInProgress: boolean | null): void;
  stopPoll(poll: Poll): void;
  drop(poll: Poll): void;
  ping(jobIds: ReadonlySet<string>, unhealthyReason: string | null): void;
  /** Whether the worker has this job, so that its posts about it count. */
  holds(jobId: string): boolean;
  result(jobId: string, body: ReceivedBody): Promise<void>;
  chunk(jobId: string, body: ReceivedBody): void;
}

/** The calls of a load-balanced worker, which gets no jobs: its polls are held until they time out. */
export class IdleCalls implements WorkerCalls {
  readonly #holdMs: () => number;
  readonly #polls = new PollQueue<null>(() => {});

  constructor(holdMs: () => number) {
    this.#holdMs = holdMs;
  }

  take(poll: Poll): void {
    this.#polls.add(poll, null, this.#holdMs());
  }

  stopPoll(poll: Poll): void {
    this.#polls.add(poll, null, this.#holdMs());
  }

  drop(poll: Poll): void {
    this.#polls.drop(poll);
  }

  /** Its health is probed at its own server. */
  ping(): void {}

  /** No result is received, since there are no jobs. */
  holds(): boolean {
    return false;
  }

  async result(): Promise<void> {}

  chunk(): void {}

  endPolls(): void {
    this.#polls.endAll();
  }
}
