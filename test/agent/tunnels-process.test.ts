import { readdir, readFile } from "node:fs/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";
import { until } from "../support/until.ts";
import { workerSpec } from "./runtime-conformance.ts";
import { describeTunnels, type TunnelPlace } from "./tunnel-conformance.ts";

/** Answers 404 on loopback. */
const SERVER = `require("node:http").createServer((_, r) => r.writeHead(404, { connection: "close" }).end()).listen(+process.argv[1], "127.0.0.1")`;

async function open(): Promise<TunnelPlace> {
  const stateDirectory = await mkdtemp(join(tmpdir(), "edgerun-tunnels-"));
  const runtime = new ProcessRuntime({ stateDirectory, hasRealGpus: false });
  onTestFinished(async () => {
    for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
    await runtime.close();
    await rm(stateDirectory, { recursive: true, force: true });
  });
  return {
    runtime,
    async startWorker(ports = []) {
      const [port] = ports;
      const command = port === undefined ? "sleep 1000" : `"${process.execPath}" -e '${SERVER}' ${port}`;
      const spec = workerSpec("", command, { env: { WORKER_MARK: "marked" } });
      await runtime.start(spec);
      await until(async () => {
        const sockets = await runtime.listening(spec.workerId);
        return port === undefined || sockets?.some((socket) => socket.port === port);
      }, "the server of the worker");
      return spec.workerId;
    },
    tool: (command) => command.split(" "),
    isRunning,
  };
}

/** Whether a process of this machine has the text in its command line. */
async function isRunning(text: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.some((line) => line.split("\0").join(" ").startsWith(text));
}

describeTunnels("as a plain process", open);
