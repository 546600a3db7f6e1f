/** Python programs that use the package runpod, which is imported once for all of them. */
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { execa, type ResultPromise } from "execa";
import { ensureClientVenv } from "./client-venv.ts";

const FORKED = fileURLToPath(new URL("../clients/forked.py", import.meta.url));

export class PythonPrograms {
  readonly #server: ResultPromise;
  readonly #socket: string;

  private constructor(server: ResultPromise, socket: string) {
    this.#server = server;
    this.#socket = socket;
  }

  /** The folder holds the socket; all programs have that environment. */
  static async start(folder: string, env: Readonly<Record<string, string>>): Promise<PythonPrograms> {
    const socket = join(folder, "forked");
    const python = await ensureClientVenv();
    const server = execa(python, [FORKED, socket], { env });
    await Promise.race([once(server.stdout, "data"), server]);
    return new PythonPrograms(server, socket);
  }

  /** Runs a program; answers with all that it prints, errors included. */
  async run(path: string, args: readonly string[] = []): Promise<string> {
    const connection = connect(this.#socket);
    connection.write(`${JSON.stringify([path, ...args])}\n`);
    return await text(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.kill();
    await this.#server.catch(() => {}); // it was killed
  }
}
