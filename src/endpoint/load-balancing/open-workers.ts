/**
 * The workers that take requests: those that the link of their host reports as ready, and that scaling has not closed.
 * An agent is believed only about workers that Fleet has placed on its host.
 */
import { chooseWorker, type Candidate } from "../../domain/scaling/balancer.ts";
import { explainAbsence } from "../../domain/jobs/queue-reason.ts";
import type { EndpointFacts } from "../facts/endpoint-facts.ts";
import type { Autoscaler } from "../scaling/autoscaler.ts";
import type { RequestTracker } from "./request-tracker.ts";
import type { Link, Links } from "../../forwarding/links.ts";
import type { Affinity, NoWorker } from "../../forwarding/messages.ts";

export type OpenWorkersParts = {
  readonly facts: EndpointFacts;
  readonly scaling: Pick<Autoscaler, "openTo" | "availabilityOf">;
  readonly requests: Pick<RequestTracker, "workers">;
  readonly links: Links;
};

export type OpenWorker = Candidate & { readonly link: Link };

export class OpenWorkers {
  readonly #parts: OpenWorkersParts;
  readonly #usedAt = new Map<string, number>();
  #uses = 0;

  constructor(parts: OpenWorkersParts) {
    this.#parts = parts;
  }

  /** The worker for a request, other than `except`; undefined when there is no such worker. */
  choose(
    affinity: Affinity | null,
    now: number,
    except: Pick<ReadonlySet<string>, "has" | "size"> = NONE,
  ): OpenWorker | undefined {
    const candidates = this.#candidates(now);
    const others =
      except.size === 0 ? candidates : candidates.filter(({ workerId }) => !except.has(workerId));
    return chooseWorker(others, affinity);
  }

  /** A worker gets a request. */
  used(workerId: string): void {
    this.#uses += 1;
    this.#usedAt.set(workerId, this.#uses);
  }

  /** These workers no longer exist. */
  forget(workerIds: readonly string[]): void {
    for (const workerId of workerIds) this.#usedAt.delete(workerId);
  }

  /** Why a request has no worker. */
  absence(affinity: Affinity | null): NoWorker {
    const { facts, scaling } = this.#parts;
    const detail = explainAbsence(facts.report, facts.config?.workersMax ?? 0);
    if (!affinity || affinity.mode === "soft") return { kind: "wait", detail };
    const { workerId } = affinity;
    switch (scaling.availabilityOf(workerId)) {
      case "gone":
        return { kind: "worker_gone" };
      case "standby":
        return { kind: "wait", detail: `Worker ${workerId} was scaled down.` };
      case "leaving":
        return { kind: "wait", detail: `Worker ${workerId} takes no more requests.` };
      case "ready":
      case "coming":
        return { kind: "wait", detail: `Worker ${workerId} takes no requests yet.` };
    }
  }

  #candidates(now: number): readonly OpenWorker[] {
    const { facts, scaling, requests, links } = this.#parts;
    const ready = links.all.flatMap((link) => {
      const isSuspect = link.isSuspect(now);
      return link.workers.map((workerId) => ({ workerId, link, isSuspect }));
    });
    const outdated = facts.outdated;
    return scaling.openTo(facts.openTo(ready, ({ link }) => link.hostId)).map((worker) => ({
      ...worker,
      inFlight: requests.workers.counts.get(worker.workerId) ?? 0,
      usedAt: this.#usedAt.get(worker.workerId) ?? 0,
      isOutdated: outdated.has(worker.workerId),
    }));
  }
}

const NONE: ReadonlySet<string> = new Set();
