/** Streams an answer while the worker yields it. */
import { JsonCountError } from "../../../json/json-tokens.ts";
import { OpenaiFrames } from "../../../domain/openai/openai-frames.ts";
import {
  errorBodyOf,
  errorOfCode,
  errorOfJob,
  errorInJson,
  JOB_EXPIRED,
  TOO_MANY_ELEMENTS,
  WORKER_LOST,
  type OpenaiErrorDetails,
} from "../../../domain/openai/openai-error-details.ts";
import { logFailure } from "../../../management/failure-log.ts";
import type { QueueContext } from "../context.ts";
import { EVENT_HEADERS, EventWriter } from "../streams/stream-events.ts";
import type { SlottedView } from "../../../endpoint/messages.ts";
import { AnswerChunks, type AnswerStep } from "./answer-chunks.ts";
import { OpenaiJobError } from "../../errors.ts";
import type { OwnedJob } from "./owned-job.ts";
import { answerOfEnd } from "./whole-answer.ts";

/** Answers with the first chunk, so that earlier errors have their own status; ends the ownership of the job itself. */
export async function answerStreamed(
  context: QueueContext,
  { view, slot }: SlottedView,
  job: OwnedJob,
): Promise<Response> {
  const chunks = new AnswerChunks(context, view.id, slot);
  const first = await chunks.next();
  const frames = new OpenaiFrames();
  if (first.kind !== "chunks") {
    const frame = frames.encode(await answerInsteadOf(context, first)) + frames.end();
    job.complete();
    return context.body(frame, 200, EVENT_HEADERS);
  }
  const details = errorInJson(first.outputs[0] ?? "null");
  if (details) throw new OpenaiJobError(details);
  const { readable, writable } = new IdentityTransformStream();
  const answer = new AnswerWriter(new EventWriter(writable), frames, job);
  context.executionCtx.waitUntil(answer.writeAll(context, first, chunks));
  return context.body(readable, 200, EVENT_HEADERS);
}

/** The answer of a worker that returned without yielding. */
function answerInsteadOf(context: QueueContext, step: Exclude<AnswerStep, { kind: "chunks" }>) {
  if (step.kind === "ended") return answerOfEnd(context, step.view);
  throw new OpenaiJobError(stopDetails(step.kind));
}

function stopDetails(kind: "expired" | "lost" | "client_gone"): OpenaiErrorDetails {
  return kind === "expired" ? JOB_EXPIRED : WORKER_LOST;
}

class AnswerWriter {
  readonly #events: EventWriter;
  readonly #frames: OpenaiFrames;
  readonly #job: OwnedJob;

  constructor(events: EventWriter, frames: OpenaiFrames, job: OwnedJob) {
    this.#events = events;
    this.#frames = frames;
    this.#job = job;
  }

  async writeAll(context: QueueContext, first: AnswerStep, chunks: AnswerChunks): Promise<void> {
    try {
      let step = first;
      while (step.kind === "chunks") {
        const frame = step.outputs.map((output) => this.#frames.encode(output)).join("");
        if (frame !== "" && !(await this.#events.write(frame))) return await this.#leave();
        if (this.#frames.isDone) this.#job.complete(); // clients stop reading here and hang up
        step = await chunks.next();
      }
      await this.#finish(step);
    } catch (error) {
      if (error instanceof JsonCountError) return await this.#fail(TOO_MANY_ELEMENTS);
      logFailure("stream_failed", { path: context.req.path }, error);
      await this.#fail(errorOfCode("internal", "The stream broke off on our side. Send the request again."));
    }
  }

  async #finish(step: Exclude<AnswerStep, { kind: "chunks" }>): Promise<void> {
    switch (step.kind) {
      case "ended":
        if (step.view.status !== "COMPLETED") return this.#fail(errorOfJob(step.view));
        this.#job.complete();
        await this.#events.write(this.#frames.end());
        return this.#events.close();
      case "expired":
      case "lost":
        return this.#fail(stopDetails(step.kind));
      case "client_gone":
        return this.#leave();
    }
  }

  /** The status was sent already, so the error is an event. */
  async #fail(details: OpenaiErrorDetails): Promise<void> {
    await this.#job.abandon();
    await this.#events.write(this.#frames.fail(errorBodyOf(details)));
    await this.#events.close();
  }

  async #leave(): Promise<void> {
    await this.#job.abandon();
    await this.#events.abort();
  }
}
