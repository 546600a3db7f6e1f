/** The streams of an endpoint, by request: each is put on a link, and in the book from its begin to its end. */
import { SCALING_LOOK_MS } from "../../contract/limits.ts";
import type { Reset } from "../../contract/link-messages.ts";
import type { FinalState } from "../../domain/job-machine.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { DirectBook } from "./direct-book.ts";
import type { Link } from "./link.ts";
import type { Links } from "./links.ts";
import type { Stream, StreamEnd, StreamPort } from "./stream.ts";

export type StreamsParts = {
  readonly links: Links;
  readonly direct: DirectBook;
  readonly commit: Pick<GroupCommit, "run">;
  readonly onBegin: () => void;
  readonly onEnd: () => void;
};

/** A request as the book knows it; times are epoch ms. */
export type Booked = {
  readonly requestId: string;
  readonly workerId: string;
  readonly receivedAt: number;
  readonly startedAt: number;
};

export class Streams {
  readonly #parts: StreamsParts;
  readonly #streams = new Map<string, Stream>();
  #isLooking = false;
  #look: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: StreamsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#streams.size;
  }

  /** A worker gets a request; `isNew` is false when another one has given it back. */
  begin<Made extends Stream>(
    link: Link,
    booked: Booked,
    isNew: boolean,
    make: (port: StreamPort) => Made,
  ): Made {
    const { direct, links } = this.#parts;
    const stream = this.#add(link, links.nextStream(link), booked, make);
    if (isNew) direct.began(booked.workerId);
    else direct.kept(booked.workerId);
    this.#lookSoon();
    return stream;
  }

  /** A stream that was there before a loss of memory. */
  keep<Made extends Stream>(link: Link, id: number, booked: Booked, make: (port: StreamPort) => Made): Made {
    this.#parts.direct.kept(booked.workerId);
    return this.#add(link, id, booked, make);
  }

  /** False when there is no such request. */
  break(requestId: string, reset: Reset): boolean {
    const stream = this.#streams.get(requestId);
    stream?.break(reset);
    return stream !== undefined;
  }

  /** Other requests than before run or wait: scaling looks at them, and nobody waits for that. */
  lookAtScaling(): void {
    if (this.#look !== undefined) clearTimeout(this.#look);
    this.#look = undefined;
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#parts.commit.run(() => {
      this.#isLooking = false;
    });
  }

  /** The same, together with what other requests do meanwhile; when there is none, at once: the object may sleep. */
  #lookSoon(): void {
    if (this.count === 0) this.lookAtScaling();
    else this.#look ??= setTimeout(() => this.lookAtScaling(), SCALING_LOOK_MS);
  }

  #add<Made extends Stream>(link: Link, id: number, booked: Booked, make: (port: StreamPort) => Made): Made {
    const { requestId } = booked;
    const { direct } = this.#parts;
    let isAwaited = false;
    const setAwaited = (is: boolean): void => {
      direct.awaited += Number(is) - Number(isAwaited);
      isAwaited = is;
    };
    const put = (stream: Stream): void => {
      link.streams.set(id, stream);
      this.#streams.set(requestId, stream);
      setAwaited(stream.isAwaited);
    };
    const stream = make({
      id,
      send: (...frames) => link.send(id, frames),
      become: (other) => {
        put(other);
        this.#parts.onEnd(); // nobody waits for its answer any more
        this.#lookSoon();
      },
      end: (end) => {
        link.streams.delete(id);
        this.#streams.delete(requestId);
        setAwaited(false);
        if (end === "returned") link.forget(booked.workerId);
        this.#book(booked, end);
        this.#parts.onEnd();
      },
    });
    link.willAnswer(Date.now());
    put(stream);
    this.#parts.onBegin();
    return stream;
  }

  #book({ workerId, receivedAt, startedAt }: Booked, end: StreamEnd): void {
    const { direct } = this.#parts;
    const endedAt = Date.now();
    if (end === "returned") direct.gaveBack(workerId);
    else direct.ended(workerId, { outcome: OUTCOMES[end], receivedAt, startedAt, endedAt });
    this.#lookSoon();
  }
}

const OUTCOMES: Record<Exclude<StreamEnd, "returned">, FinalState> = {
  complete: "completed",
  aborted: "cancelled",
  timeout: "timed_out",
  too_large: "failed",
  worker_gone: "failed",
  worker_failed: "failed",
  protocol: "failed",
};
