/**
 * Shows the edge continuously that this host is alive, so that its silence is noticed within seconds although syncs
 * are held for long. It carries nothing else. An edge without presences only hears from the host less often.
 */
import { trimEndOf } from "../../src/net/trimming.ts";
import { randomUUID } from "node:crypto";
import { PRESENCE_BEAT, PRESENCE_REPLACED } from "../../src/contract/agent/agent.ts";
import { PRESENCE_SILENCE_MS } from "../../src/contract/limits.ts";
import type { Timing } from "../core/timing.ts";
import { Backoff } from "../core/backoff.ts";
import { Schedule } from "../core/schedule.ts";

/** A presence is replaced before the script that holds it has used up its CPU time. */
const PRESENCE_MAX_AGE_MS = 3_600_000;

/** Interval between two beats of a presence. */
const PRESENCE_BEAT_MS = 3_000;

export type PresenceOptions = {
  readonly edgeUrl: string;
  readonly hostToken: string;
  readonly timing: Timing;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** It was opened or lost. */
  readonly onChange: () => void;
  /** It is open again after nothing came from the edge for long. */
  readonly onReturn: () => void;
};

export class Presence {
  readonly #options: PresenceOptions;
  readonly #backoff: Backoff;
  readonly #schedule = new Schedule(() => this.#step());
  #socket: WebSocket | null = null;
  #id: string | null = null;
  #openedAt = 0;
  #heardAt = 0;
  #wasSilent = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.timing, options.random);
    options.signal.addEventListener("abort", () => this.#leave(), { once: true });
  }

  /** Name of the presence that is open; null while no presence is open. */
  get id(): string | null {
    return this.#id;
  }

  start(): void {
    this.#schedule.within(0);
  }

  #step(): void {
    if (this.#options.signal.aborted) return;
    const now = performance.now();
    if (this.#socket === null) return this.#open();
    if (now - this.#heardAt > PRESENCE_SILENCE_MS) {
      this.#wasSilent = true;
      return this.#lost(this.#socket);
    }
    if (this.#id !== null && now - this.#openedAt > PRESENCE_MAX_AGE_MS) return this.#replace(this.#socket);
    if (this.#id !== null) this.#socket.send(PRESENCE_BEAT);
    this.#schedule.within(PRESENCE_BEAT_MS);
  }

  #open(): void {
    const { edgeUrl, hostToken } = this.#options;
    const id = randomUUID();
    const url = new URL(`${trimEndOf(edgeUrl, "/")}/agent/v1/presence?id=${id}`);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${hostToken}` } });
    this.#socket = socket;
    this.#heardAt = performance.now();
    socket.addEventListener("open", () => this.#opened(socket, id));
    socket.addEventListener("message", () => {
      if (socket === this.#socket) this.#heardAt = performance.now();
    });
    socket.addEventListener("close", () => this.#lost(socket));
    socket.addEventListener("error", () => this.#lost(socket));
    this.#schedule.within(PRESENCE_BEAT_MS);
  }

  #opened(socket: WebSocket, id: string): void {
    if (socket !== this.#socket) return;
    this.#openedAt = this.#heardAt = performance.now();
    this.#id = id;
    this.#backoff.reset();
    socket.send(PRESENCE_BEAT);
    this.#options.onChange();
    if (this.#wasSilent) this.#options.onReturn();
    this.#wasSilent = false;
  }

  #replace(socket: WebSocket): void {
    this.#forget();
    socket.close(1000, PRESENCE_REPLACED);
    this.#open();
  }

  #lost(socket: WebSocket): void {
    if (socket !== this.#socket) return;
    const wasOpen = this.#id !== null;
    this.#forget();
    closeSocket(socket);
    if (this.#options.signal.aborted) return;
    this.#backoff.increase();
    this.#schedule.within(this.#backoff.remainingMs());
    if (wasOpen) this.#options.onChange();
  }

  #leave(): void {
    this.#schedule.cancel();
    const socket = this.#socket;
    this.#forget();
    if (socket) closeSocket(socket);
  }

  #forget(): void {
    this.#socket = null;
    this.#id = null;
  }
}

/** Closing waits for the other end, which may be gone, so it is not awaited. */
function closeSocket(socket: WebSocket): void {
  try {
    socket.close();
  } catch {
    // It was never open.
  }
}
