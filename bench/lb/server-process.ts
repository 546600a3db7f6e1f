/** The worker that is measured, as a plain process of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export class ServerProcess implements AsyncDisposable {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(port: number, process: ChildProcess) {
    this.port = port;
    this.#process = process;
  }

  static async start(): Promise<ServerProcess> {
    const started = spawn(process.execPath, [join(import.meta.dirname, "server.mjs")], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PORT: "0", HOST: "127.0.0.1" },
    });
    const [line] = (await once(started.stdout, "data")) as [Buffer];
    return new ServerProcess(Number(String(line)), started);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}
