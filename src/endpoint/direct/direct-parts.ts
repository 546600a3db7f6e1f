/** All that serves requests which go straight to workers, put together. */
import type { WorkerSnapshot } from "../../domain/queue-reason.ts";
import type { GroupCommit } from "../../durable/group-commit.ts";
import type { EndpointFacts } from "../endpoint-facts.ts";
import type { Scaling } from "../scaling.ts";
import { DirectBells } from "./direct-bells.ts";
import type { DirectBook } from "./direct-book.ts";
import { DirectDesk } from "./direct-desk.ts";
import { LinkDesk } from "./link-desk.ts";
import { Links } from "./links.ts";
import { OpenWorkers } from "./open-workers.ts";
import { Sockets } from "./sockets.ts";
import { Streams } from "./streams.ts";

export type DirectCore = {
  readonly facts: EndpointFacts;
  readonly scaling: Scaling;
  readonly direct: DirectBook;
  readonly commit: GroupCommit;
};

export function openDirect(context: DurableObjectState, core: DirectCore) {
  const { facts, scaling, direct, commit } = core;
  const links = new Links(context);
  const sockets = new Sockets(context);
  const bells = new DirectBells(context);
  const streams = new Streams({
    links,
    direct,
    commit,
    onBegin: () => linked.watch(),
    onEnd: () => {
      linked.rest();
      desk.ring();
    },
  });
  const workers = new OpenWorkers({ facts, scaling, direct, links });
  const inTurn = (work: () => void): void => void commit.run(work);
  const desk = new DirectDesk({ scaling, direct, streams, sockets, bells, workers, inTurn });
  const linked = new LinkDesk({ links, sockets, streams, onChange: () => desk.ring() });
  return {
    desk,
    links: linked,
    recover: (now: number) => {
      linked.recover(now);
      desk.recover();
      direct.recovered();
    },
    /** False for a socket of others. */
    closed: (socket: WebSocket, code: number, reason: string) =>
      linked.closed(socket, code, reason) || desk.hungUp(socket, Date.now()),
    workersGone: (gone: readonly WorkerSnapshot[]) => {
      linked.lost(gone);
      workers.forget(gone.map(({ workerId }) => workerId));
      desk.ring();
    },
  };
}
