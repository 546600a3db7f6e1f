/** The runtime with a script of a benchmark, and nothing else. */
import { type ChildProcess } from "node:child_process";
import diagnosticsChannel from "node:diagnostics_channel";
import { build } from "esbuild";
import getPort from "get-port";
import { Log, LogLevel, Miniflare, convertV4MiniflareOptions } from "miniflare";

const COMPATIBILITY_DATE = "2026-10-01";

export type BareScript = {
  /** Path of its first module. */
  readonly path: string;
  /** Classes of objects by the names of their bindings. */
  readonly objects: Readonly<Record<string, string>>;
};

export class BareEdge implements AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
  readonly #miniflare: Miniflare;

  private constructor(origin: string, pid: number, miniflare: Miniflare) {
    this.origin = origin;
    this.pid = pid;
    this.#miniflare = miniflare;
  }

  static async start({ path, objects }: BareScript): Promise<BareEdge> {
    const { outputFiles } = await build({
      entryPoints: [path],
      bundle: true,
      write: false,
      format: "esm",
      external: ["cloudflare:*"],
    });
    const port = await getPort({ host: "127.0.0.1" });
    const spawned = nextChild();
    const classes = Object.entries(objects).map(([name, className]) => [
      name,
      { className, useSQLite: true },
    ]);
    const miniflare = new Miniflare(
      convertV4MiniflareOptions({
        host: "127.0.0.1",
        cf: false,
        log: new Log(LogLevel.ERROR),
        logRequests: false,
        workers: [
          {
            name: "bare",
            modules: [{ type: "ESModule", path: "index.js", contents: outputFiles[0]?.text ?? "" }],
            compatibilityDate: COMPATIBILITY_DATE,
            compatibilityFlags: ["enable_request_signal"],
            unsafeDirectSockets: [{ host: "127.0.0.1", port }],
            durableObjects: Object.fromEntries(classes),
          },
        ],
      }),
    );
    await miniflare.ready;
    return new BareEdge(`http://127.0.0.1:${port}`, await spawned, miniflare);
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
