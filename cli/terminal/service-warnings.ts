/** What the service warns of although it does what it is asked: shown once each, however many calls it comes with. */
export class ServiceWarnings {
  readonly #show: (message: string) => void;
  readonly #known = new Set<string>();
  /** Undefined once they are shown as they come. */
  #held: string[] | undefined = [];

  constructor(show: (message: string) => void) {
    this.#show = show;
  }

  /** All that there were, for programs. */
  get messages(): readonly string[] {
    return [...this.#known];
  }

  /** Shown when the command is over, below all that it says itself; at once after `release`. */
  add(message: string): void {
    if (this.#known.has(message)) return;
    this.#known.add(message);
    if (this.#held === undefined) this.#show(message);
    else this.#held.push(message);
  }

  /** Shows what there is; from now on each is shown as it comes. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const message of held) this.#show(message);
  }
}
