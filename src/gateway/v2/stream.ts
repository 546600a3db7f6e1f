import { HOT_HOLD_MS, STREAM_HOLD_MS } from "../../contract/limits.ts";
import { awaitRing } from "../doorbell.ts";
import { endpointStub } from "../endpoint-directory.ts";
import { spliceJson } from "../spliced-json.ts";
import { jobNotFound, readWait, type QueueContext } from "./context.ts";
import { askWithinLimits } from "./limits.ts";
import { streamEvents, wantsEvents } from "./stream-events.ts";

/**
 * `GET|POST /stream/<id>?wait=ms`: the chunks that no earlier call got, held until there are some, the job
 * has ended, or `wait` is over. The first answer with a final status holds all that is left.
 * A client that asks for server-sent events gets those instead.
 */
export async function stream(context: QueueContext): Promise<Response> {
  const jobId = context.req.param("jobId") ?? "";
  if (wantsEvents(context)) return streamEvents(context, jobId);
  const endpoint = context.get("endpoint");
  const untilAt = Date.now() + readWait(context, STREAM_HOLD_MS);
  const { signal } = context.req.raw;
  for (let isFirstLook = true; ; isFirstLook = false) {
    const leftMs = Math.max(0, untilAt - Date.now());
    const holdMs = Math.min(leftMs, HOT_HOLD_MS);
    const reply = await askWithinLimits(context, (stub) => stub.drain(jobId, holdMs, isFirstLook));
    if (reply.kind === "not_found") throw jobNotFound(jobId);
    const { status, isFinal, runs, position } = reply;
    if (runs.length > 0 || isFinal || leftMs === 0 || signal.aborted) {
      const body = spliceJson({ status }, "stream", `[${runs.map(({ wire }) => wire).join(",")}]`);
      return context.body(body, 200, { "Content-Type": "application/json" });
    }
    const bell = { stream: jobId, after: `${position}` };
    await awaitRing(endpointStub(context.env, endpoint.endpointId), bell, untilAt, signal);
  }
}
