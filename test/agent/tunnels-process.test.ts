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
    async startWorker(port) {
      const command = port === undefined ? "sleep 1000" : `"${process.execPath}" -e '${SERVER}' ${port}`;
      const spec = workerSpec("", command, { env: { WORKER_MARK: "marked" } });
      await runtime.start(spec);
      await until(async () => {
        const sockets = await runtime.listening(spec.workerId);
        return port === undefined || sockets?.some((socket) => socket.port === port);
      }, "it listens");
      return spec.workerId;
    },
    tool: (command) => command,
  };
}

describeTunnels("as a plain process", open);
