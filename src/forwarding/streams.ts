/** The streams of an object, by request: each is on a link, and counted from its begin to its end. */
import type { Reset } from "../link/link-messages.ts";
import type { FinalState } from "../domain/jobs/job-machine.ts";
import type { Link, Links } from "./links.ts";
import type { Stream, StreamEnd, StreamPort } from "./stream.ts";

export type StreamsParts = {
  readonly links: Links;
  readonly requests: RequestRecord;
  readonly onBegin: () => void;
  readonly onEnd: () => void;
  /** Requests have begun or ended: `inFlight` are left. */
  readonly onCount: (inFlight: number) => void;
};

/** Is told of each request, and of what becomes of it. */
export type RequestRecord = {
  /** Requests with a waiting client: they keep the object awake. */
  awaited: number;
  /** A worker gets a request. */
  began(workerId: string): void;
  /** A worker has a request that was counted before. */
  resumed(workerId: string): void;
  /** A worker has refused its request, which goes to another one. */
  gaveBack(workerId: string): void;
  /** A request is over. */
  ended(workerId: string, end: RequestTimes & { readonly outcome: FinalState }): void;
};

type RequestTimes = Pick<PlacedRequest, "receivedAt" | "startedAt"> & { readonly endedAt: number };

/** A request that a worker has; times are epoch ms. */
export type PlacedRequest = {
  readonly requestId: string;
  readonly workerId: string;
  /** Port of a pod; absent for a worker. */
  readonly port?: number;
  readonly receivedAt: number;
  readonly startedAt: number;
};

export class Streams {
  readonly #parts: StreamsParts;
  readonly #streams = new Map<string, Stream>();

  constructor(parts: StreamsParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#streams.size;
  }

  /** A worker gets a request; `isNew` is false when another one has refused it. */
  begin<Made extends Stream>(
    link: Link,
    request: PlacedRequest,
    isNew: boolean,
    make: (port: StreamPort) => Made,
  ): Made {
    const { requests, links } = this.#parts;
    const stream = this.#add(link, links.nextStream(link), request, make);
    if (isNew) requests.began(request.workerId);
    else requests.resumed(request.workerId);
    this.#parts.onCount(this.count);
    return stream;
  }

  /** A stream that was there before a loss of memory. */
  keep<Made extends Stream>(
    link: Link,
    id: number,
    request: PlacedRequest,
    make: (port: StreamPort) => Made,
  ): Made {
    this.#parts.requests.resumed(request.workerId);
    return this.#add(link, id, request, make);
  }

  /** False when there is no such request. */
  break(requestId: string, reset: Reset): boolean {
    const stream = this.#streams.get(requestId);
    stream?.break(reset);
    return stream !== undefined;
  }

  #add<Made extends Stream>(
    link: Link,
    id: number,
    request: PlacedRequest,
    make: (port: StreamPort) => Made,
  ): Made {
    const { requestId } = request;
    const { requests } = this.#parts;
    let isAwaited = false;
    const setAwaited = (is: boolean): void => {
      requests.awaited += Number(is) - Number(isAwaited);
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
        this.#parts.onEnd(); // no client waits for its answer any longer
        this.#parts.onCount(this.count);
      },
      end: (end) => {
        link.streams.delete(id);
        this.#streams.delete(requestId);
        setAwaited(false);
        if (end === "returned") link.forget(request.workerId);
        this.#record(request, end);
        this.#parts.onEnd();
      },
    });
    link.willAnswer(Date.now());
    put(stream);
    this.#parts.onBegin();
    return stream;
  }

  #record({ workerId, receivedAt, startedAt }: PlacedRequest, end: StreamEnd): void {
    const { requests } = this.#parts;
    const endedAt = Date.now();
    if (end === "returned") requests.gaveBack(workerId);
    else requests.ended(workerId, { outcome: OUTCOMES[end], receivedAt, startedAt, endedAt });
    this.#parts.onCount(this.count);
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
  tunnel_gone: "failed",
};
