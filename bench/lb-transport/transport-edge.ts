/** The runtime with the script of both transports. */
import { type ChildProcess } from "node:child_process";
import diagnosticsChannel from "node:diagnostics_channel";
import { build } from "esbuild";
import getPort from "get-port";
import { Log, LogLevel, Miniflare, convertV4MiniflareOptions } from "miniflare";
import { join } from "node:path";
import type { Usage } from "../scenarios/price.ts";

const SCRIPT = join(import.meta.dirname, "script/index.ts");
const COMPATIBILITY_DATE = "2026-10-01";

export type TransportUsage = Omit<Usage, "rowsRead" | "rowsWritten"> & { readonly incomingMessages: number };

export class TransportEdge implements AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
  readonly #miniflare: Miniflare;

  private constructor(origin: string, pid: number, miniflare: Miniflare) {
    this.origin = origin;
    this.pid = pid;
    this.#miniflare = miniflare;
  }

  static async start(): Promise<TransportEdge> {
    const { outputFiles } = await build({
      entryPoints: [SCRIPT],
      bundle: true,
      write: false,
      format: "esm",
      external: ["cloudflare:*"],
    });
    const port = await getPort({ host: "127.0.0.1" });
    const spawned = nextChild();
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        cf: false,
        log: new Log(LogLevel.ERROR),
        logRequests: false,
        workers: [
          {
            name: "transport",
            modules: [{ type: "ESModule", path: "index.js", contents: outputFiles[0]?.text ?? "" }],
            compatibilityDate: COMPATIBILITY_DATE,
            compatibilityFlags: ["enable_request_signal"],
            unsafeDirectSockets: [{ host: "127.0.0.1", port }],
            durableObjects: {
              POLLED: { className: "PolledObject", useSQLite: true },
              LINKED: { className: "LinkedObject", useSQLite: true },
            },
          },
        ],
      }),
    );
    await miniflare.ready;
    return new TransportEdge(`http://127.0.0.1:${port}`, await spawned, miniflare);
  }

  /** Since the script started. */
  async usage(): Promise<TransportUsage> {
    return (await (await fetch(`${this.origin}/meter`)).json()) as TransportUsage;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
  }
}

/** The number of the next process that this one starts. */
async function nextChild(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const watch = (message: unknown): void => {
    const child = (message as { process: ChildProcess }).process;
    child.once("spawn", () => resolve(child.pid ?? 0));
  };
  diagnosticsChannel.subscribe("child_process", watch);
  return promise.finally(() => diagnosticsChannel.unsubscribe("child_process", watch));
}
