/** Which sources the workers of a live endpoint have been sent. */
export class KnownSources {
  readonly #byEndpoint = new Map<string, Set<string>>();

  of(endpointId: string): ReadonlySet<string> {
    return this.#byEndpoint.get(endpointId) ?? new Set();
  }

  /** A worker has run code made of these. */
  add(endpointId: string, hashes: readonly string[]): void {
    const known = this.#byEndpoint.get(endpointId) ?? new Set();
    for (const sha256 of hashes) known.add(sha256);
    this.#byEndpoint.set(endpointId, known);
  }

  /** A worker lacks what another one had. */
  forget(endpointId: string): void {
    this.#byEndpoint.delete(endpointId);
  }
}
