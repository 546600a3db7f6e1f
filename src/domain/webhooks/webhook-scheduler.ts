/**
 * Which receiver is called next, when more deliveries are due than calls may be open.
 *
 * T1  Never more than WEBHOOK_CALLS_MAX calls at once, and never more than WEBHOOK_CALLS_PER_HOST of one host.
 * T2  A host whose last answer was slow, or did not come, is suspect: one call at a time, and no more than
 *     WEBHOOK_SUSPECT_CALLS of all suspects together. So receivers that hang do not delay the others.
 * T3  Hosts take turns; one with many deliveries does not keep one with few waiting.
 */

/** Open calls of one endpoint. The platform allows six that wait for an answer; one is left for other calls. */
export const WEBHOOK_CALLS_MAX = 5;
export const WEBHOOK_CALLS_PER_HOST = 4;
/** Open calls of one endpoint to suspect receivers. */
export const WEBHOOK_SUSPECT_CALLS = 2;

export class WebhookScheduler {
  /** Open calls by host. */
  readonly #open = new Map<string, number>();
  readonly #suspects = new Set<string>();
  #openCount = 0;

  get openCount(): number {
    return this.#openCount;
  }

  /** The first of the hosts, in the order given, that may be called now. */
  next(hosts: Iterable<string>): string | undefined {
    if (this.#openCount >= WEBHOOK_CALLS_MAX) return undefined;
    const canCallSuspects = this.#openSuspects() < WEBHOOK_SUSPECT_CALLS;
    for (const host of hosts) {
      const open = this.#open.get(host) ?? 0;
      const isAllowed = this.#suspects.has(host)
        ? open === 0 && canCallSuspects
        : open < WEBHOOK_CALLS_PER_HOST;
      if (isAllowed) return host;
    }
    return undefined;
  }

  opened(host: string): void {
    this.#openCount += 1;
    this.#open.set(host, (this.#open.get(host) ?? 0) + 1);
  }

  closed(host: string, isPrompt: boolean): void {
    this.#openCount -= 1;
    const open = (this.#open.get(host) ?? 0) - 1;
    if (open > 0) this.#open.set(host, open);
    else this.#open.delete(host);
    if (isPrompt) this.#suspects.delete(host);
    else this.#suspects.add(host);
  }

  #openSuspects(): number {
    return [...this.#open].reduce((sum, [host, open]) => (this.#suspects.has(host) ? sum + open : sum), 0);
  }
}
