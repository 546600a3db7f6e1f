/** The memory of the edge's script and objects, as the inspector of the Workers runtime tells it. */

const TARGET = "core:user:edgerun";

type Reply = { readonly id?: number; readonly result?: unknown };

/**
 * Bytes of JavaScript values that are in use once the garbage is gone. Memory of the process tells less: the
 * runtime gives back late what it no longer needs.
 */
export async function usedHeap(inspectorPort: number, touchEdge: () => Promise<unknown>): Promise<number> {
  const inspector = await Inspector.open(`ws://127.0.0.1:${inspectorPort}/${TARGET}`);
  try {
    const collected = inspector.ask("HeapProfiler.collectGarbage");
    await touchEdge(); // it is done as soon as the script runs again
    await collected;
    const { usedSize } = (await inspector.ask("Runtime.getHeapUsage")) as { usedSize: number };
    return usedSize;
  } finally {
    inspector.close();
  }
}

class Inspector {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, (result: unknown) => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as Reply;
      this.#asked.get(id ?? 0)?.(result);
    });
  }

  static async open(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error(`no inspector at ${url}`)), { once: true });
    });
    return new Inspector(socket);
  }

  ask(method: string): Promise<unknown> {
    const id = this.#asked.size + 1;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params: {} }));
    });
  }

  close(): void {
    this.#socket.close();
  }
}
