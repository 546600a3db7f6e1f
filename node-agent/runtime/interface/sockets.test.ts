import { createServer } from "node:net";
import { once } from "node:events";
import { test } from "vitest";
import { listeningIn, socketsOfNetwork, socketsOfProcesses } from "./sockets.ts";

const HEADER =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

function row(local: string, state: string, inode: number): string {
  return `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100 0\n`;
}

test("the kernel's table of sockets is read in both families and both orders", ({ expect }) => {
  const table4 =
    HEADER + row("0100007F:1F40", "0A", 7) + row("00000000:0050", "0A", 8) + row("0100007F:1F41", "01", 9);
  expect(listeningIn(table4, "LE")).toEqual([
    { address: "127.0.0.1", port: 8_000, inode: "7" },
    { address: "0.0.0.0", port: 80, inode: "8" },
  ]);
  expect(listeningIn(HEADER + row("7F000001:0050", "0A", 7), "BE")).toMatchObject([{ address: "127.0.0.1" }]);
  const table6 =
    HEADER +
    row("00000000000000000000000000000000:0050", "0A", 1) +
    row("00000000000000000000000001000000:0051", "0A", 2) +
    row("0000000000000000FFFF00000100007F:0052", "0A", 3) +
    row("B80D01200000000000000000FE000000:0053", "0A", 4);
  expect(listeningIn(table6, "LE").map(({ address }) => address)).toEqual([
    "::",
    "::1",
    "127.0.0.1",
    "2001:db8:0:0:0:0:0:fe",
  ]);
  expect(listeningIn("")).toEqual([]);
});

test("a server of this process is found among its sockets, and none of another process", async ({
  expect,
}) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as { port: number };
    const own = { address: "127.0.0.1", port };
    expect(await socketsOfProcesses([process.pid])).toContainEqual(own);
    expect(await socketsOfProcesses([])).toEqual([]);
    expect(await socketsOfNetwork(process.pid)).toContainEqual(own);
    expect(await socketsOfNetwork(0)).toBeNull();
  } finally {
    server.close();
  }
});
