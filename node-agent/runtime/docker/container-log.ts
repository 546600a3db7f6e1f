/** A frame of Docker's log stream: one byte for the stream, three unused, four for the length, then the text. */
const HEADER_BYTES = 8;
const LENGTH_OFFSET = 4;

/** Text of a container's log as Docker sends it, output and errors together in their order. */
export function textOfLog(log: Buffer): string {
  const parts: Buffer[] = [];
  let offset = 0;
  while (offset + HEADER_BYTES <= log.length) {
    const start = offset + HEADER_BYTES;
    offset = start + log.readUInt32BE(offset + LENGTH_OFFSET);
    parts.push(log.subarray(start, offset));
  }
  return Buffer.concat(parts).toString("utf8");
}
