/** Warnings in successful responses of the service: each is shown once, however many responses carry it. */
export class ServiceWarnings {
  readonly #show: (message: string) => void;
  readonly #seen = new Set<string>();
  /** Undefined after `flush`: warnings are then shown as they arrive. */
  #buffered: string[] | undefined = [];

  constructor(show: (message: string) => void) {
    this.#show = show;
  }

  /** All warnings so far, for `--json`. */
  get messages(): readonly string[] {
    return [...this.#seen];
  }

  /** Shown at the end of the command, below its own output; at once after `flush`. */
  add(message: string): void {
    if (this.#seen.has(message)) return;
    this.#seen.add(message);
    if (this.#buffered === undefined) this.#show(message);
    else this.#buffered.push(message);
  }

  /** Shows all warnings so far, and later ones as they arrive. */
  flush(): void {
    const buffered = this.#buffered ?? [];
    this.#buffered = undefined;
    for (const message of buffered) this.#show(message);
  }
}
