/** Where the commands of a host query its running agent: a socket that only its owner can open. */
import { errorCode, errorMessage } from "../../src/std/errors.ts";
import * as z from "zod";
import { chmod, rm } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import { join } from "node:path";
import {
  agentNoticeSchema,
  workerReportSchema,
  type WorkerReport,
  type WorkerState,
} from "../../src/contract/agent/agent.ts";

const ANSWER_LIMIT_MS = 5_000;

export class StatusServer {
  readonly #server: Server;
  readonly #path: string;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
  }

  /** Answers at a socket in the state directory, which belongs to the one agent that has its journal open. */
  static async start(stateDir: string, read: () => AgentStatus): Promise<StatusServer> {
    const path = socketPath(stateDir);
    await rm(path, { force: true }); // of an agent that was killed
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(read()));
    });
    server.listen(path);
    await once(server, "listening");
    await chmod(path, 0o600);
    return new StatusServer(server, path);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#path, { force: true });
  }
}

/** The status of a state directory's agent; undefined when none runs there. Throws when one runs and is silent. */
export async function queryAgent(stateDir: string): Promise<AgentStatus | undefined> {
  try {
    const query = request({ socketPath: socketPath(stateDir), path: "/", timeout: ANSWER_LIMIT_MS });
    query.on("timeout", () => query.destroy(new Error("no answer in time")));
    query.end();
    const [response] = (await once(query, "response")) as [NodeJS.ReadableStream];
    return agentStatusSchema.parse(JSON.parse(await text(response)));
  } catch (error) {
    if (isNotListening(error)) return undefined;
    const detail = errorMessage(error);
    throw new Error(`The agent of ${stateDir} does not answer: ${detail}`, { cause: error });
  }
}

/** No socket, or one that an agent left that was killed. */
function isNotListening(error: unknown): boolean {
  return ["ENOENT", "ECONNREFUSED"].includes(errorCode(error) ?? "");
}

function socketPath(stateDir: string): string {
  return join(stateDir, "agent.sock");
}

/** What a running agent reports about itself; times are in ms of its own clock. */
export const agentStatusSchema = z.object({
  version: z.string(),
  pid: z.number(),
  edgeUrl: z.string(),
  hostId: z.string(),
  name: z.string(),
  runtime: z.enum(["docker", "process"]),
  startedAt: z.number(),
  /** When the edge last answered; null when it has not yet. */
  lastContactAt: z.number().nullable(),
  notice: agentNoticeSchema.nullable(),
  /** Port on which workers find the agent. */
  workerPort: z.number(),
  workers: z.array(workerReportSchema),
  /** Jobs that run here, and results that the edge does not have yet. */
  jobs: z.number(),
});
export type AgentStatus = z.infer<typeof agentStatusSchema>;

/** The state that users see; an edge gets standby in a form that older edges understand, too. */
export function displayState({ state, isStandby }: Pick<WorkerReport, "state" | "isStandby">): WorkerState {
  return isStandby ? "standby" : state;
}
