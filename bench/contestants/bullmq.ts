/** BullMQ on Redis behind a Hono service: what a team would build that runs its own queue. */
import { randomBytes } from "node:crypto";
import getPort from "get-port";
import { Child } from "../process/child.ts";
import type { ServiceCommands, ServiceSettings } from "./bullmq-service.ts";
import type { WorkerCommands, WorkerSettings } from "./bullmq-worker.ts";
import { QUEUE_NAME } from "./bullmq-queue.ts";
import { budgetBy, type Contestant } from "./contestant.ts";
import { type Durability, startRedis } from "./redis.ts";

export async function startBullmq(durability: Durability): Promise<Contestant> {
  const stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis(durability));
  const port = await getPort({ host: "127.0.0.1" });
  const settings: ServiceSettings & WorkerSettings = {
    redisPort: redis.port,
    port,
    apiKey: randomBytes(20).toString("hex"),
  };
  const service = stack.use(
    await Child.start<ServiceCommands>(new URL("bullmq-service.ts", import.meta.url), settings),
  );
  const worker = stack.use(
    await Child.start<WorkerCommands>(new URL("bullmq-worker.ts", import.meta.url), settings),
  );
  return {
    name: `bullmq-${durability}`,
    api: { baseUrl: `http://127.0.0.1:${port}/v2/${QUEUE_NAME}`, apiKey: settings.apiKey },
    roles: () => ({ service: [service.pid], redis: [redis.pid], worker: [worker.pid] }),
    budget: budgetBy(() => Number.POSITIVE_INFINITY),
    worker: {
      pause: () => worker.ask("pause", null),
      resume: () => worker.ask("resume", null),
      drain: (jobs) => worker.ask("drain", jobs),
      claim: (jobs) => worker.ask("claim", jobs),
      fillTo: async (depth) => service.ask("fill", depth - (await service.ask("waiting", null))),
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
