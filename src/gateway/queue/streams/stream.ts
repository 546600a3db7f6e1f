import type { DrainReply, RateLimited, SlotRef, Unconfigured } from "../../../endpoint/messages.ts";
import { shardOfJob } from "../../../contract/job.ts";
import { awaitWakeUp } from "../../wake-up.ts";
import { endpointObject } from "../../../management/objects.ts";
import { spliceJson } from "../../spliced-json.ts";
import { jobNotFound, readWait, type QueueContext } from "../context.ts";
import { callAboutJob, slotQuery } from "../limits.ts";
import { streamEvents, wantsEvents } from "./stream-events.ts";
import { IN_OBJECT_WAIT_MS } from "../../../durable/waiters.ts";

/**
 * How long a stream call stays open while there is nothing to send. Less than 10 s, after which the Python
 * client gives up the call, and would lose the chunks of an answer that arrives at that moment.
 */
export const STREAM_HOLD_MS = 8_000;

/**
 * `GET|POST /stream/<id>?wait=ms`: the chunks that no earlier call returned; waits until there are some, the job
 * has ended, or `wait` is over. The first answer with a final status holds all remaining ones.
 * A client that asks for server-sent events gets those instead.
 */
export async function stream(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  if (wantsEvents(context)) return streamEvents(context, jobId);
  const { endpointId } = context.get("endpoint");
  const untilAt = Date.now() + readWait(context, STREAM_HOLD_MS);
  const { signal } = context.req.raw;
  let previousSlot: SlotRef | null = null;
  for (;;) {
    const { status, runs, position, slot }: Found = await drain(context, jobId, untilAt, previousSlot);
    if (!slot || signal.aborted) {
      const body = spliceJson({ status }, "stream", `[${runs.map(({ wire }) => wire).join(",")}]`);
      return context.body(body, 200, { "Content-Type": "application/json" });
    }
    const channel = { stream: jobId, after: `${position}`, ...slotQuery(slot, untilAt) };
    await awaitWakeUp(endpointObject(context.env, endpointId, shardOfJob(jobId)), channel, untilAt, signal);
    // Chunks that a gone client drains would be lost to the next one.
    if (signal.aborted) return context.json({ status, stream: [] });
    previousSlot = slot;
  }
}

type Found = Extract<Exclude<DrainReply, Unconfigured | RateLimited>, { kind: "found" }>;

async function drain(
  context: QueueContext,
  jobId: string,
  untilAt: number,
  previousSlot: SlotRef | null,
): Promise<Found> {
  const holdMs = Math.min(Math.max(0, untilAt - Date.now()), IN_OBJECT_WAIT_MS);
  const reply = await callAboutJob(context, jobId, (stub) => stub.drain(jobId, holdMs, previousSlot));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return reply;
}
