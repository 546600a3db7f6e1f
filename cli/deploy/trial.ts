/**
 * The trial worker of an endpoint that has none without work: it shows whether workers of the new version can start. The
 * service keeps it for as long as the command extends its time, so none is left when the command is killed.
 */
import type { Service } from "../service/service.ts";

const LEASE_SECONDS = 30;
const RENEW_AFTER_MS = 10_000;

export class Trial {
  readonly #service: Service;
  readonly #path: string;
  #renewedAt: number | undefined;
  #isPossible = true;

  constructor(service: Service, endpointId: string) {
    this.#service = service;
    this.#path = `/v2/${endpointId}/trial`;
  }

  /** Starts it, and extends its time; false where the key may not, or the service knows no trials. */
  async extend(): Promise<boolean> {
    const now = performance.now();
    const isDue = this.#renewedAt === undefined || now - this.#renewedAt > RENEW_AFTER_MS;
    if (!this.#isPossible || !isDue) return this.#isPossible;
    const { ok, status } = await this.#service.request(`${this.#path}?seconds=${LEASE_SECONDS}`, {
      method: "POST",
    });
    if (ok) this.#renewedAt = now;
    else if (status < 500 && status !== 429) this.#isPossible = false;
    return this.#isPossible;
  }

  /** `service`: with a signal of its own, as this follows Ctrl+C too. It ends by itself where this fails. */
  async end(service: Service): Promise<void> {
    if (this.#renewedAt === undefined) return;
    await service.request(this.#path, { method: "DELETE" }).catch(() => undefined);
  }
}
