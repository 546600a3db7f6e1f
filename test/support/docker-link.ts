import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A proxy of the Docker daemon that a test can cut, block and restore. */
export class DockerLink {
  readonly path = join(tmpdir(), `edgerun-docker-${randomUUID().slice(0, 8)}.sock`);
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isBlocked = false;

  static async open(): Promise<DockerLink> {
    const link = new DockerLink();
    await link.restore();
    return link;
  }

  async restore(): Promise<void> {
    this.#isBlocked = false;
    const server = createServer((socket) => {
      const onward = createConnection(
        process.env["DOCKER_HOST"]?.replace("unix://", "") ?? "/var/run/docker.sock",
      );
      for (const end of [socket, onward]) {
        this.#sockets.add(end);
        end.on("error", () => undefined).on("close", () => this.#sockets.delete(end));
      }
      if (!this.#isBlocked) socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(this.path, resolve));
    this.#server = server;
  }

  /** From here on the daemon takes calls and gives no answer. */
  block(): void {
    this.#isBlocked = true;
    for (const socket of this.#sockets) socket.unpipe();
  }

  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await this.cut();
    await rm(this.path, { force: true });
  }
}
