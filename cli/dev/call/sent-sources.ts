/** Which sources the workers of a live endpoint have been sent. */
export class SentSources {
  readonly #byEndpoint = new Map<string, Set<string>>();

  of(endpointId: string): ReadonlySet<string> {
    return this.#byEndpoint.get(endpointId) ?? new Set();
  }

  /** A worker has run code made of these. */
  add(endpointId: string, hashes: readonly string[]): void {
    const sent = this.#byEndpoint.get(endpointId) ?? new Set();
    for (const sha256 of hashes) sent.add(sha256);
    this.#byEndpoint.set(endpointId, sent);
  }

  /** A worker lacks what another one had. */
  forget(endpointId: string): void {
    this.#byEndpoint.delete(endpointId);
  }
}
