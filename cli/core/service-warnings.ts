/** What the service warns of although it does what it is asked: shown once each, however many calls it comes with. */
export class ServiceWarnings {
  readonly #show: (message: string) => void;
  readonly #seen = new Set<string>();
  /** Undefined once they are shown as they come. */
  #buffered: string[] | undefined = [];

  constructor(show: (message: string) => void) {
    this.#show = show;
  }

  /** All that there were, for programs. */
  get messages(): readonly string[] {
    return [...this.#seen];
  }

  /** Shown when the command is over, below all that it says itself; at once after `release`. */
  add(message: string): void {
    if (this.#seen.has(message)) return;
    this.#seen.add(message);
    if (this.#buffered === undefined) this.#show(message);
    else this.#buffered.push(message);
  }

  /** Shows what there is; from now on each is shown as it comes. */
  flush(): void {
    const buffered = this.#buffered ?? [];
    this.#buffered = undefined;
    for (const message of buffered) this.#show(message);
  }
}
