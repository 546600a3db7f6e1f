/** The streams of an endpoint, by request: each is on a link, and counted from its begin to its end. */
import type { Reset } from "../../link/link-messages.ts";
import type { FinalState } from "../../domain/jobs/job-machine.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { RequestTracker } from "./request-tracker.ts";
import type { Link, Links } from "./links.ts";
import type { Stream, StreamEnd, StreamPort } from "./stream.ts";

/** While requests begin and end, scaling reviews them at least this often. */
const SCALING_INTERVAL_MS = 25;

export type StreamsParts = {
  readonly links: Links;
  readonly requests: RequestTracker;
  readonly commit: Pick<GroupCommit, "run">;
  readonly onBegin: () => void;
  readonly onEnd: () => void;
};

/** A request that a worker has; times are epoch ms. */
export type PlacedRequest = {
  readonly requestId: string;
  readonly workerId: string;
  readonly receivedAt: number;
  readonly startedAt: number;
};

export class Streams {
  readonly #parts: StreamsParts;
  readonly #streams = new Map<string, Stream>();
  #isReviewing = false;
  #review: ReturnType<typeof setTimeout> | undefined;

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
    this.#reviewSoon();
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

  /** Requests have begun, ended or come: scaling reviews them in a separate turn. */
  reviewScaling(): void {
    if (this.#review !== undefined) clearTimeout(this.#review);
    this.#review = undefined;
    if (this.#isReviewing) return;
    this.#isReviewing = true;
    void this.#parts.commit.run(() => {
      this.#isReviewing = false;
    });
  }

  /** The same, together with what other requests do meanwhile; at once without requests, as the object may then sleep. */
  #reviewSoon(): void {
    if (this.count === 0) this.reviewScaling();
    else this.#review ??= setTimeout(() => this.reviewScaling(), SCALING_INTERVAL_MS);
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
        this.#reviewSoon();
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
    this.#reviewSoon();
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
