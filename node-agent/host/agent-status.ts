import * as z from "zod";
import { agentNoticeSchema, workerReportSchema } from "../../src/contract/agent/agent.ts";

/** What a running agent tells people of itself; times are in ms of its own clock. */
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
