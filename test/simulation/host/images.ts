/** The images of a host: one that is not there is pulled first. */

export class HostImages {
  readonly #present = new Set<string>();
  #failuresLeft = 0;
  #isLost = false;

  /** Images are removed, as from a full disk, and so many pulls fail. */
  failPulls(count: number): void {
    this.#present.clear();
    this.#failuresLeft = count;
  }

  /** The host reaches no registry any more, for good. */
  lose(): void {
    this.failPulls(Infinity);
    this.#isLost = true;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  healPulls(): void {
    if (!this.#isLost) this.#failuresLeft = 0;
  }

  has(image: string): boolean {
    return this.#present.has(image);
  }

  /** Whether the image is there now. */
  pull(image: string): boolean {
    if (this.#failuresLeft > 0) {
      this.#failuresLeft -= 1;
      return false;
    }
    this.#present.add(image);
    return true;
  }
}
