import type { ServerResponse } from "node:http";

/** A request of a worker that waits for its reply. */
export class Poll {
  readonly beganAt = Date.now();
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

  /** Sends JSON text. True once the whole reply was handed to a live socket. */
  send(body: string): Promise<boolean> {
    if (!this.#take()) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#response.once("finish", () => resolve(this.#response.socket?.destroyed !== true));
      this.#response.once("close", () => resolve(false));
      this.#response.writeHead(200, { "content-type": "application/json" }).end(body);
    });
  }

  /** Answers that there is nothing. */
  release(): void {
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
export class ParkedPolls<Wish> {
  readonly #onChange: () => void;
  readonly #answerHeld: (poll: Poll) => void;
  readonly #parked = new Map<Poll, { readonly wish: Wish; readonly timer: NodeJS.Timeout }>();

  /** `answerHeld`: ends a poll whose hold is over; there is nothing for it. */
  constructor(onChange: () => void, answerHeld = (poll: Poll) => poll.release()) {
    this.#onChange = onChange;
    this.#answerHeld = answerHeld;
  }

  park(poll: Poll, wish: Wish, holdMs: number): void {
    const timer = setTimeout(() => {
      if (!this.#remove(poll)) return;
      this.#answerHeld(poll);
      this.#onChange();
    }, holdMs);
    this.#parked.set(poll, { wish, timer });
    this.#onChange();
  }

  /** Forgets a poll whose peer has gone. */
  drop(poll: Poll): void {
    if (this.#remove(poll)) this.#onChange();
  }

  /** Takes the oldest poll out; its owner must answer it. */
  shift(): { readonly poll: Poll; readonly wish: Wish } | undefined {
    const [first] = this.#parked;
    if (!first) return undefined;
    const [poll, { wish }] = first;
    this.#remove(poll);
    return { poll, wish };
  }

  releaseAll(): void {
    for (const poll of [...this.#parked.keys()]) this.#release(poll);
  }

  wishes(): Wish[] {
    return [...this.#parked.values()].map((parked) => parked.wish);
  }

  #release(poll: Poll): void {
    if (!this.#remove(poll)) return;
    poll.release();
    this.#onChange();
  }

  #remove(poll: Poll): boolean {
    const parked = this.#parked.get(poll);
    if (!parked) return false;
    clearTimeout(parked.timer);
    return this.#parked.delete(poll);
  }
}
