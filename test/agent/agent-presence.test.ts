import { BUSY_SYNC_HOLD_MS } from "../../node-agent/exchange/sync-loop.ts";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { TIMING } from "../../node-agent/core/timing.ts";
import { Presence } from "../../node-agent/edge/presence.ts";
import { ProcessRuntime } from "../../node-agent/runtime/process/process-runtime.ts";
import { AGENT_HOLD_MAX_MS } from "../../src/contract/limits.ts";
import { AgentFixture } from "../support/agent-fixture.ts";

/** The last sync says that its host has this presence, and promises so much. */
const vouched = (host: AgentFixture, presence: string | undefined, holdMs: number) =>
  host.edge.until(() => {
    const sync = host.edge.syncs.at(-1);
    return sync?.presence === presence && sync?.holdMs === holdMs;
  });

describe("the presence of a host", () => {
  test(
    "tells that the network is back when it opens after a silence",
    { timeout: 60_000 },
    async ({ expect }) => {
      const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
      onTestFinished(() => server.close());
      await once(server, "listening");
      const returned = Promise.withResolvers<number>();
      const stopping = new AbortController();
      onTestFinished(() => stopping.abort());
      let opened = 0;
      server.on("connection", () => (opened += 1)); // and no beat is answered
      const { port } = server.address() as AddressInfo;
      new Presence({
        edgeUrl: `http://127.0.0.1:${port}`,
        hostToken: "token",
        timing: TIMING,
        random: Math.random,
        signal: stopping.signal,
        onChange: () => {},
        onReturn: () => returned.resolve(opened),
      }).start();
      expect(await returned.promise).toBe(2);
    },
  );

  test("is named by its syncs, which then promise as much with jobs as without", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const worker = await host.readyWorker();
    const [name = ""] = await host.edge.until(
      () => host.edge.presences.size === 1 && [...host.edge.presences.keys()],
    );
    await vouched(host, name, AGENT_HOLD_MAX_MS);

    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 2, mock_return: 1 } });
    await host.edge.report("job-1");
    expect(host.edge.syncs.some(({ holdMs }) => holdMs === BUSY_SYNC_HOLD_MS)).toBe(false);
  });

  test("is opened again when it breaks, under another name", async ({ expect }) => {
    await using host = await AgentFixture.start();
    await host.readyWorker();
    const [first = ""] = await host.edge.until(
      () => host.edge.presences.size === 1 && [...host.edge.presences.keys()],
    );
    host.edge.presences.get(first)?.terminate();
    const second = await host.edge.until(() =>
      [...host.edge.presences.keys()].find((name) => name !== first),
    );
    await vouched(host, second, AGENT_HOLD_MAX_MS);
    expect(host.edge.presences.has(first)).toBe(false);
  });

  test("may be unknown to an edge: a busy host then promises to speak again soon", async () => {
    await using host = await AgentFixture.create();
    host.edge.behaviour.supportsPresence = false;
    await host.startAgent();
    const worker = await host.readyWorker();
    host.edge.submit(worker.endpointId, { id: "job-1", input: { mock_delay: 3, mock_return: 1 } });
    await vouched(host, undefined, BUSY_SYNC_HOLD_MS);
    await host.edge.report("job-1");
  });

  test("lasts until its agent has ended: until then its workers are looked after", async ({ expect }) => {
    await using host = await AgentFixture.create();
    let presencesAtTheEnd = 0;
    class NotingRuntime extends ProcessRuntime {
      override async close(): Promise<void> {
        presencesAtTheEnd = host.edge.presences.size;
        await super.close();
      }
    }
    host.otherRuntime = new NotingRuntime({ stateDirectory: host.stateDir, hasRealGpus: false });
    await host.startAgent();
    const { endpointId } = await host.readyWorker();
    await host.edge.until(() => host.edge.presences.size === 1);
    host.edge.submit(endpointId, { id: "job-1", input: { mock_delay: 1, mock_return: 1 } });
    await host.edge.held("job-1");
    await host.stopAgent();
    expect(presencesAtTheEnd).toBe(1);
    await host.edge.until(() => host.edge.presences.size === 0);
  });

  test("ends with its agent", async () => {
    await using host = await AgentFixture.start();
    await host.edge.until(() => host.edge.presences.size === 1);
    await host.stopAgent();
    await host.edge.until(() => host.edge.presences.size === 0);
  });
});
