import { HOT_HOLD_MS, STREAM_HOLD_MS } from "../../contract/limits.ts";
import type { DrainReply, RateLimited, SlotRef, Unconfigured } from "../../endpoint/messages.ts";
import { awaitRing } from "../doorbell.ts";
import { endpointStub } from "../endpoint-directory.ts";
import { spliceJson } from "../spliced-json.ts";
import { jobNotFound, readWait, type QueueContext } from "./context.ts";
import { askWithinLimits, slotQuery } from "./limits.ts";
import { streamEvents, wantsEvents } from "./stream-events.ts";

/**
 * `GET|POST /stream/<id>?wait=ms`: the chunks that no earlier call got, held until there are some, the job
 * has ended, or `wait` is over. The first answer with a final status holds all that is left.
 * A client that asks for server-sent events gets those instead.
 */
export async function stream(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  if (wantsEvents(context)) return streamEvents(context, jobId);
  const { endpointId } = context.get("endpoint");
  const untilAt = Date.now() + readWait(context, STREAM_HOLD_MS);
  const { signal } = context.req.raw;
  let kept: SlotRef | null = null;
  for (;;) {
    const { status, runs, position, slot }: Found = await drain(context, jobId, untilAt, kept);
    if (!slot || signal.aborted) {
      const body = spliceJson({ status }, "stream", `[${runs.map(({ wire }) => wire).join(",")}]`);
      return context.body(body, 200, { "Content-Type": "application/json" });
    }
    const bell = { stream: jobId, after: `${position}`, ...slotQuery(slot, untilAt) };
    await awaitRing(endpointStub(context.env, endpointId), bell, untilAt, signal);
    // What a client that has gone would drain is lost to the next one.
    if (signal.aborted) return context.json({ status, stream: [] });
    kept = slot;
  }
}

type Found = Extract<Exclude<DrainReply, Unconfigured | RateLimited>, { kind: "found" }>;

async function drain(
  context: QueueContext,
  jobId: string,
  untilAt: number,
  kept: SlotRef | null,
): Promise<Found> {
  const holdMs = Math.min(Math.max(0, untilAt - Date.now()), HOT_HOLD_MS);
  const reply = await askWithinLimits(context, (stub) => stub.drain(jobId, holdMs, kept));
  if (reply.kind === "not_found") throw jobNotFound(jobId);
  return reply;
}
