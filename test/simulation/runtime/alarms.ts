/**
 * The alarm of an object. It fires at its time or later, one handler at a time, and is not set while its handler runs. When
 * the handler throws, or resets the object, it runs again after 2 s, 4 s and so on, six times, unless it has changed the
 * alarm. When the object is lost with its machine, it runs again at once.
 */
import type { Machine } from "../world/world.ts";
import { isInjected } from "./injected.ts";
import type { Network } from "./network.ts";
import { isReset } from "./resets.ts";
import type { ObjectStorage } from "./storage.ts";

export type AlarmInfo = { readonly retryCount: number; readonly isRetry: boolean };

export type AlarmOutcome = {
  readonly ended: () => void;
  readonly threw: (error: unknown) => void;
  /** The object has lost its memory. */
  readonly lost: (error: Error) => void;
};

type AlarmParts = {
  readonly network: Network;
  readonly machine: Machine;
  readonly storage: ObjectStorage;
  /** Runs the handler in the object. */
  readonly handle: (info: AlarmInfo, outcome: AlarmOutcome) => void;
};

const RETRY_MS = 2_000;
const RETRIES = 6;

export class ObjectAlarm {
  readonly #parts: AlarmParts;
  #failures = 0;
  #isRunning = false;
  /** One that is due while the handler runs. */
  #next: number | undefined;

  constructor(parts: AlarmParts) {
    this.#parts = parts;
  }

  /** It was set to this time. */
  set(at: number): void {
    const { network, machine } = this.#parts;
    const { world } = network;
    this.#failures = 0;
    this.#fireIn(at - world.now - machine.clockAheadMs + world.random.delay(5), at);
  }

  #fireIn(delayMs: number, at: number): void {
    const { network, machine } = this.#parts;
    network.world.schedule(network.carrier, delayMs, `alarm of ${machine.name}`, () => this.#fire(at));
  }

  #fire(at: number): void {
    if (this.#parts.storage.alarmAt !== at) return;
    if (this.#isRunning) return void (this.#next = at);
    this.#isRunning = true;
    this.#parts.storage.takeAlarm();
    this.#parts.handle(
      { retryCount: this.#failures, isRetry: this.#failures > 0 },
      {
        ended: () => this.#ended(),
        threw: (error) => this.#threw(at, error),
        lost: (error) => this.#lost(at, error),
      },
    );
  }

  #ended(): void {
    this.#isRunning = false;
    const next = this.#next;
    this.#next = undefined;
    if (next !== undefined) this.#fireIn(0, next);
  }

  #threw(at: number, error: unknown): void {
    const { world } = this.#parts.network;
    world.note(this.#parts.machine, `alarm fails: ${String(error)}`);
    if (!isInjected(error)) world.uncaught.push(error);
    this.#ended();
    this.#retry(at);
  }

  #lost(at: number, error: Error): void {
    this.#ended();
    if (isReset(error)) return this.#retry(at);
    if (this.#parts.storage.isAlarmChanged) return;
    this.#parts.storage.restoreAlarm(at);
    this.set(at);
  }

  #retry(at: number): void {
    if (this.#parts.storage.isAlarmChanged || this.#failures === RETRIES) return;
    this.#parts.storage.restoreAlarm(at);
    const delayMs = RETRY_MS * 2 ** this.#failures;
    this.#failures += 1;
    this.#fireIn(delayMs, at);
  }
}
