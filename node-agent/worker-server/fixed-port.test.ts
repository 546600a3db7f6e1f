import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { Journal } from "../journal/journal.ts";
import { listenOnFixedPort } from "./fixed-port.ts";
import type { WorkerServer } from "./worker-server.ts";

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

/** What the agents of a host do one after the other; `taken`: ports of other programs. */
function listener(journal: Journal) {
  const taken = new Set<number>();
  let lastPort = 10_000;
  const listen = async (_: string, port: number): Promise<number> => {
    if (taken.has(port)) throw Object.assign(new Error("in use"), { code: "EADDRINUSE" });
    return port === 0 ? (lastPort += 1) : port;
  };
  const server = { listen, close: async () => {} } as unknown as WorkerServer;
  return { taken, start: (address = "127.0.0.1") => listenOnFixedPort(server, address, journal, QUIET) };
}

test("workers count as unreachable until they were given up, however often the agent starts", async ({
  expect,
  onTestFinished,
}) => {
  const stateDir = mkdtempSync(join(tmpdir(), "edgerun-port-"));
  const journal = new Journal(stateDir);
  onTestFinished(() => {
    journal.close();
    rmSync(stateDir, { recursive: true });
  });
  const { taken, start } = listener(journal);

  const first = await start();
  first.remember();
  expect(first).toMatchObject({ port: 10_001, isSame: true });
  expect(await start()).toMatchObject({ port: 10_001, isSame: true });

  taken.add(10_001);
  expect(await start()).toMatchObject({ port: 10_002, isSame: false });
  const second = await start();
  expect(second).toMatchObject({ port: 10_003, isSame: false });
  second.remember();
  expect(await start()).toMatchObject({ port: 10_003, isSame: true });

  expect(await start("172.17.0.1")).toMatchObject({ port: 10_003, isSame: false });
  const moved = await start("172.17.0.1");
  expect(moved).toMatchObject({ port: 10_003, isSame: false });
  moved.remember();
  expect(await start("172.17.0.1")).toMatchObject({ port: 10_003, isSame: true });
});
