/**
 * The one caller of `setAlarm`. Setting costs a written row, so an alarm is only moved to an earlier time;
 * one that fires too early finds nothing due and is set again.
 */
export class AlarmClock {
  readonly #storage: DurableObjectStorage;
  #armedAt: number | null = null;
  #writes = 0;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** To be awaited once, before the object works. */
  async load(): Promise<void> {
    this.#armedAt = await this.#storage.getAlarm();
  }

  /** To be called first in `alarm()`. */
  fired(): void {
    this.#armedAt = null;
  }

  /** Makes sure that the alarm fires at `at` or earlier. */
  armBy(at: number | null): void {
    if (at === null || (this.#armedAt !== null && this.#armedAt <= at)) return;
    this.#armedAt = at;
    this.#writes += 1;
    void this.#storage.setAlarm(at);
  }

  get armedAt(): number | null {
    return this.#armedAt;
  }

  /** Rows written by alarms since the object woke. */
  get writes(): number {
    return this.#writes;
  }
}
