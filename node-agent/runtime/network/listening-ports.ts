import { readFile } from "node:fs/promises";
import { endianness } from "node:os";

const LISTEN = "0A";

/** TCP ports on which somebody listens at exactly this IPv4 address of this machine. */
export async function listeningPorts(address: string): Promise<ReadonlySet<number>> {
  return portsIn(await readFile("/proc/net/tcp", "utf8"), kernelSpelling(address));
}

/** Reads the kernel's table of sockets. */
export function portsIn(table: string, spelling: string): ReadonlySet<number> {
  const rows = table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
  const ports = rows.flatMap(([, local = "", , state]) => {
    const [host, port = ""] = local.split(":");
    return host === spelling && state === LISTEN ? [Number.parseInt(port, 16)] : [];
  });
  return new Set(ports);
}

/** An address as the kernel prints it: in hex, in the order of the machine. */
export function kernelSpelling(address: string, order = endianness()): string {
  const bytes = Buffer.from(address.split(".").map(Number));
  return (order === "LE" ? bytes.reverse() : bytes).toString("hex").toUpperCase();
}
