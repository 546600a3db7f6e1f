/** What usage costs at list price (Workers Paid, beyond all allotments), in dollars. */

/** What one job, or any other unit, uses. */
export type Usage = {
  readonly workerRequests: number;
  readonly objectRequests: number;
  /** Time in which an object is active, or idle but unable to hibernate. */
  readonly objectSeconds: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
};

const MILLION = 1_000_000;

/** Dollars per million of each; object memory per GB-second. */
const PRICES = {
  workerRequest: 0.3,
  workerCpuMs: 0.02,
  objectRequest: 0.15,
  gigabyteSecond: 12.5,
  rowRead: 0.001,
  rowWritten: 1,
} as const;

/** An object is billed as if it always had this much memory. */
const OBJECT_GIGABYTES = 0.128;
/** Processor time of a Worker request. Assumed: a local runtime does not tell it apart from that of objects. */
export const CPU_MS_PER_REQUEST = 1;

/** Dollars for `count` times this usage. */
export function priceOf(usage: Usage, count: number): number {
  const each =
    usage.workerRequests * (PRICES.workerRequest + CPU_MS_PER_REQUEST * PRICES.workerCpuMs) +
    usage.objectRequests * PRICES.objectRequest +
    usage.objectSeconds * OBJECT_GIGABYTES * PRICES.gigabyteSecond +
    usage.rowsRead * PRICES.rowRead +
    usage.rowsWritten * PRICES.rowWritten;
  return (each * count) / MILLION;
}
