import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { onTestFinished, test } from "vitest";
import { SILENT_LOG } from "../../node-agent/core/log.ts";
import { TIMING } from "../../node-agent/core/timing.ts";
import { EdgeRelay } from "../../node-agent/worker-server/edge-relay.ts";
import { type WorkerSession, WorkerServer } from "../../node-agent/worker-server/worker-server.ts";

test("a worker that posts before its agent knows it is answered once it does", async ({ expect }) => {
  const asked = Promise.withResolvers<void>();
  const known = Promise.withResolvers<void>();
  const sessions = new Map<string, WorkerSession>();
  const server = new WorkerServer({
    relay: new EdgeRelay("http://127.0.0.1:1"),
    findSession: (workerId) => sessions.get(workerId),
    get workersKnown() {
      asked.resolve();
      return known.promise;
    },
    log: SILENT_LOG,
    timing: { ...TIMING, errorDelayMs: 0 },
  });
  const port = await server.listen("127.0.0.1", 0);
  onTestFinished(() => server.close());

  const sent = request({ host: "127.0.0.1", port, path: "/T/edge/w1/v2/e1/health", agent: false });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.end();
  await Promise.race([asked.promise, answered]);
  sessions.set("w1", { token: "T", calls: null as never }); // nobody asks for the queue here
  known.resolve();
  const [answer] = await answered;
  expect(answer.statusCode).toBe(502); // its edge is away
});
