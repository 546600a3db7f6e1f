/** Opens what serves load-balanced requests: links of agents, streams on them, sockets of clients. */
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { FeatureHooks } from "../commit-hooks.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import { ForwardHandlers } from "./forward-handlers.ts";
import { LinkHandlers } from "../../forwarding/link-handlers.ts";
import { Links } from "../../forwarding/links.ts";
import { OpenWorkers } from "./open-workers.ts";
import type { RequestTracker } from "./request-tracker.ts";
import { ScalingReview } from "./scaling-review.ts";
import { Sockets } from "../../forwarding/sockets.ts";
import { Streams } from "../../forwarding/streams.ts";
import { WaitingRequests } from "./waiting-requests.ts";

export type LoadBalancingParts = {
  readonly facts: EndpointFacts;
  readonly scaling: Autoscaler;
  readonly requests: RequestTracker;
  readonly commit: GroupCommit;
};

export type LoadBalancing = {
  readonly handlers: ForwardHandlers;
  readonly links: LinkHandlers;
  readonly hooks: FeatureHooks;
  /** False for a socket of another feature. */
  readonly closed: (socket: WebSocket, code: number, reason: string) => boolean;
};

export function openLoadBalancing(context: DurableObjectState, parts: LoadBalancingParts): LoadBalancing {
  const { facts, scaling, requests, commit } = parts;
  const links = new Links(context);
  const sockets = new Sockets(context);
  const waitingRequests = new WaitingRequests(context);
  const workers = new OpenWorkers({ facts, scaling, requests, links });
  const review = new ScalingReview(commit);
  const streams = new Streams({
    links,
    requests,
    onCount: (inFlight) => review.soon(inFlight),
    onBegin: () => linkHandlers.watch(),
    onEnd: () => {
      linkHandlers.rest();
      handlers.notify();
    },
  });
  const inTurn = (work: () => void): void => void commit.run(work);
  const handlers = new ForwardHandlers({
    scaling,
    requests,
    streams,
    sockets,
    waitingRequests,
    workers,
    review,
    inTurn,
  });
  const linkHandlers = new LinkHandlers({ links, sockets, streams, onChange: () => handlers.notify() });
  return {
    handlers,
    links: linkHandlers,
    hooks: {
      recover: (now) => {
        linkHandlers.recover(now);
        handlers.recover();
        requests.recovered();
      },
      learn: ({ gone }) => {
        linkHandlers.lost(gone);
        workers.forget(gone.map(({ workerId }) => workerId));
        handlers.notify();
      },
      settle: (now) => requests.endTurn(now),
    },
    closed: (socket, code, reason) =>
      linkHandlers.closed(socket, code, reason) || handlers.closed(socket, Date.now()),
  };
}
