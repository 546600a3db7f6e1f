/** Listening TCP sockets, from the tables of Linux. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { endianness } from "node:os";
import type { ListeningSocket } from "./runtime.ts";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

const LISTEN = "0A";
const TABLES = ["tcp", "tcp6"] as const;
const IPV4_HEX_LENGTH = 8;
/** An IPv4 address in a socket of IPv6. */
const MAPPED = "00000000000000000000FFFF";

type SocketRow = ListeningSocket & { readonly inode: string };

/** Sockets in the network of the process; null where the table cannot be read. */
export async function socketsOfNetwork(pid: number): Promise<readonly ListeningSocket[] | null> {
  const rows = await rowsOf(pid);
  return rows && rows.map(({ address, port }) => ({ address, port }));
}

/** Sockets that these processes have open; null where the table cannot be read. */
export async function socketsOfProcesses(
  pids: readonly number[],
): Promise<readonly ListeningSocket[] | null> {
  const rows = await rowsOf("self");
  if (rows === null) return null;
  const inodes = new Set((await Promise.all(pids.map((pid) => inodesOf(pid)))).flat());
  return rows.filter(({ inode }) => inodes.has(inode)).map(({ address, port }) => ({ address, port }));
}

async function rowsOf(pid: number | "self"): Promise<readonly SocketRow[] | null> {
  const texts = await Promise.all(
    TABLES.map((table) => readFile(`/proc/${pid}/net/${table}`, "utf8").catch(() => null)),
  );
  if (texts.every((text) => text === null)) return null;
  return texts.flatMap((text) => listeningIn(text ?? ""));
}

/** Parses a table of the kernel. */
export function listeningIn(table: string, order = endianness()): readonly SocketRow[] {
  const rows = table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
  return rows.flatMap((row) => {
    const [, local = "", , state] = row;
    const [host = "", port = ""] = local.split(":");
    if (state !== LISTEN) return [];
    return [{ address: addressOf(host, order), port: Number.parseInt(port, 16), inode: row[9] ?? "" }];
  });
}

/** The kernel prints addresses in hex, each word of 32 bits in the order of the machine. */
function addressOf(hex: string, order: "LE" | "BE"): string {
  const groups = (hex.match(/.{8}/g) ?? []).map((word) => {
    const bytes = Buffer.from(word, "hex");
    return order === "LE" ? bytes.reverse() : bytes;
  });
  const bytes = Buffer.concat(groups);
  if (hex.length === IPV4_HEX_LENGTH) return bytes.join(".");
  const text = bytes.toString("hex").toUpperCase();
  if (text.startsWith(MAPPED)) return bytes.subarray(12).join(".");
  const isUnset = bytes.every((byte) => byte === 0);
  if (isUnset) return "::";
  if (bytes.subarray(0, 15).every((byte) => byte === 0)) return `::${bytes[15]?.toString(16)}`;
  return (text.toLowerCase().match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, "")).join(":");
}

async function inodesOf(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const files = await readdir(folder).catch(() => []);
  const links = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/** TCP ports with a listener at exactly this IPv4 address of this machine. */
export async function listeningPorts(address: string): Promise<ReadonlySet<number>> {
  const sockets = listeningIn(await readFile("/proc/net/tcp", "utf8"));
  return new Set(sockets.filter((socket) => socket.address === address).map(({ port }) => port));
}

/** Distinct TCP ports of loopback that are free at the moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === "object" && address ? address.port : 0;
  });
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

async function listen(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Whether a listener at this address of this machine could have the port. */
export async function isPortFree(address: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host: address, port, exclusive: true });
    await once(server, "listening");
    await once(server.close(), "close");
    return true;
  } catch {
    return false;
  }
}
