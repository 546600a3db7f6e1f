/** All that serves requests which go straight to workers, put together. */
import type { WorkerSnapshot } from "../../domain/jobs/queue-reason.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import { WaitingRequests } from "./waiting-requests.ts";
import type { RequestTracker } from "./request-tracker.ts";
import { ForwardHandlers } from "./forward-handlers.ts";
import { LinkHandlers } from "./link-handlers.ts";
import { Links } from "./links.ts";
import { OpenWorkers } from "./open-workers.ts";
import { Sockets } from "./sockets.ts";
import { Streams } from "./streams.ts";

export type LoadBalancingCore = {
  readonly facts: EndpointFacts;
  readonly scaling: Autoscaler;
  readonly requests: RequestTracker;
  readonly commit: GroupCommit;
};

export function openLoadBalancing(context: DurableObjectState, core: LoadBalancingCore) {
  const { facts, scaling, requests, commit } = core;
  const links = new Links(context);
  const sockets = new Sockets(context);
  const waitingRequests = new WaitingRequests(context);
  const streams = new Streams({
    links,
    requests,
    commit,
    onBegin: () => linked.watch(),
    onEnd: () => {
      linked.rest();
      handlers.notify();
    },
  });
  const workers = new OpenWorkers({ facts, scaling, requests, links });
  const inTurn = (work: () => void): void => void commit.run(work);
  const handlers = new ForwardHandlers({
    scaling,
    requests,
    streams,
    sockets,
    waitingRequests,
    workers,
    inTurn,
  });
  const linked = new LinkHandlers({ links, sockets, streams, onChange: () => handlers.notify() });
  return {
    handlers,
    links: linked,
    recover: (now: number) => {
      linked.recover(now);
      handlers.recover();
      requests.recovered();
    },
    /** False for a socket of others. */
    closed: (socket: WebSocket, code: number, reason: string) =>
      linked.closed(socket, code, reason) || handlers.closed(socket, Date.now()),
    workersGone: (gone: readonly WorkerSnapshot[]) => {
      linked.lost(gone);
      workers.forget(gone.map(({ workerId }) => workerId));
      handlers.notify();
    },
  };
}
