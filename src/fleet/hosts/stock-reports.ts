import type { HostStock } from "../../domain/placement/stock.ts";
import type { StockReport } from "../messages.ts";

/** The catalog is told no more often: each report is a row written. */
export const STOCK_REPORT_MIN_MS = 1_000;
/** A catalog that hears nothing for longer takes the hosts for absent. */
const STOCK_REPORT_MAX_MS = 60_000;

/** Tells the catalog what hosts have free, when that has changed and each minute. */
export class StockReports {
  readonly #stock: (now: number) => readonly HostStock[];
  #sent = "";
  #sentAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(stock: (now: number) => readonly HostStock[]) {
    this.#stock = stock;
  }

  /** What the catalog shall know now; undefined when it knows it, or was just told. `isUrgent`: a host is gone. */
  next(now: number, isUrgent: boolean): StockReport | undefined {
    if (!isUrgent && isWithin(STOCK_REPORT_MIN_MS, this.#lookedAt, now)) return undefined;
    this.#lookedAt = now;
    const hosts = this.#stock(now);
    const json = JSON.stringify(hosts);
    if (json === this.#sent && isWithin(STOCK_REPORT_MAX_MS, this.#sentAt, now)) return undefined;
    this.#sent = json;
    this.#sentAt = now;
    return { at: now, hosts };
  }
}

/** False as well when the clock was set back behind that time. */
function isWithin(ms: number, since: number, now: number): boolean {
  return now >= since && now - since < ms;
}
