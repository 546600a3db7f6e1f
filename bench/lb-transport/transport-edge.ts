/** The runtime with the script of both transports. */
import { join } from "node:path";
import { BareEdge } from "../bare-edge/bare-edge.ts";
import type { Usage } from "../scenarios/price.ts";

const SCRIPT = join(import.meta.dirname, "script/index.ts");

export type TransportUsage = Omit<Usage, "rowsRead" | "rowsWritten"> & { readonly incomingMessages: number };

export class TransportEdge implements AsyncDisposable {
  readonly #edge: BareEdge;

  private constructor(edge: BareEdge) {
    this.#edge = edge;
  }

  static async start(): Promise<TransportEdge> {
    const objects = { POLLED: "PolledObject", LINKED: "LinkedObject" };
    return new TransportEdge(await BareEdge.start({ path: SCRIPT, objects }));
  }

  get origin(): string {
    return this.#edge.origin;
  }

  get pid(): number {
    return this.#edge.pid;
  }

  /** Since the script started. */
  async usage(): Promise<TransportUsage> {
    return (await (await fetch(`${this.origin}/meter`)).json()) as TransportUsage;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#edge[Symbol.asyncDispose]();
  }
}
