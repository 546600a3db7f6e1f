/** The runtime itself would hand out much smaller pieces, and each costs a turn. */
const CHUNK_BYTES = 64 * 1024;

/** The bytes of a stream of the runtime as they arrive. Whoever stops early leaves the rest in the stream. */
export async function* readBytes(stream: ReadableStream): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  try {
    for (let isOver = false; !isOver;) {
      const { done, value } = await reader.readAtLeast(CHUNK_BYTES, new Uint8Array(CHUNK_BYTES));
      if (value && value.byteLength > 0) yield value;
      isOver = done;
    }
  } finally {
    reader.releaseLock();
  }
}
