import type { AgentLog } from "../core/log.ts";
import type { Timing } from "../core/timing.ts";
import type { EdgeClient, EdgeOutcome } from "./edge-client.ts";

/** What all conversations with the edge share. */
export type EdgeContext = {
  readonly client: EdgeClient;
  readonly reachability: Reachability;
  readonly log: AgentLog;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  readonly random: () => number;
  /** Called once when the edge does not accept the host token any more. */
  readonly onUnauthorized: () => void;
};

type FailedCall = Exclude<EdgeOutcome<unknown>, { readonly kind: "answered" }>;

/** What follows when the edge did not answer a call of a conversation, or rejected it. */
export function reportFailedCall(
  { reachability, log, onUnauthorized }: Pick<EdgeContext, "reachability" | "log" | "onUnauthorized">,
  conversation: string,
  outcome: FailedCall,
): void {
  switch (outcome.kind) {
    case "unauthorized":
      return onUnauthorized();
    case "unreachable":
      return reachability.failed(conversation, outcome.detail);
    case "refused":
      return log.warn("edge_refused", { conversation, status: outcome.status, detail: outcome.detail });
  }
}

/** Knows which of the agent's conversations with the edge fail, and logs when that changes for the whole. */
export class Reachability {
  readonly #log: AgentLog;
  readonly #failing = new Set<string>();

  constructor(log: AgentLog) {
    this.#log = log;
  }

  get isReachable(): boolean {
    return this.#failing.size === 0;
  }

  failed(conversation: string, detail: string): void {
    const wasReachable = this.#failing.size === 0;
    this.#failing.add(conversation);
    if (wasReachable) this.#log.warn("edge_unreachable", { conversation, detail });
  }

  answered(conversation: string): void {
    if (!this.#failing.delete(conversation) || this.#failing.size > 0) return;
    this.#log.info("edge_reachable", { conversation });
  }
}
