/** Reports as JSON text, put together without parsing the results in them, which may be megabytes. */
import type { Upload } from "../../src/contract/agent/agent.ts";
import { INLINE_PAYLOAD_MAX_BYTES } from "../../src/contract/limits.ts";
import type { AttemptRef, NewReport } from "./journal.ts";
import { ERROR_MAX_LENGTH } from "../../src/contract/agent/agent.ts";

/** What became of an attempt, without saying again whose it is. Outputs are JSON text. */
export type AttemptOutcome =
  | { readonly kind: "completed"; readonly output: string | undefined }
  | { readonly kind: "failed"; readonly error: string; readonly output: string | undefined }
  | { readonly kind: "timed_out" }
  | { readonly kind: "lost"; readonly reason: string };

const REASON_MAX_LENGTH = 2_000;

/** A large output is left out; it is uploaded, and the report completed by `withUpload`. */
export function encodeReport(ref: AttemptRef, outcome: AttemptOutcome): NewReport {
  const { jobId, attempt, workerId } = ref;
  const report = { kind: outcome.kind, jobId, attempt, workerId };
  switch (outcome.kind) {
    case "completed":
      return { ...ref, ...splitOutput(report, outcome.output) };
    case "failed":
      return {
        ...ref,
        ...splitOutput({ ...report, error: outcome.error.slice(0, ERROR_MAX_LENGTH) }, outcome.output),
      };
    case "timed_out":
      return { ...ref, ...splitOutput(report, undefined) };
    case "lost":
      return {
        ...ref,
        ...splitOutput({ ...report, reason: outcome.reason.slice(0, REASON_MAX_LENGTH) }, undefined),
      };
  }
}

export function withUpload(body: string, upload: Upload): string {
  return withMember(body, "upload", JSON.stringify(upload));
}

function splitOutput(report: object, output: string | undefined): Pick<NewReport, "body" | "output"> {
  const body = JSON.stringify(report);
  if (output === undefined) return { body, output: null };
  if (Buffer.byteLength(output) > INLINE_PAYLOAD_MAX_BYTES) return { body, output };
  return { body: withMember(body, "output", output), output: null };
}

/** Adds a member to the text of an object that has one already. */
export function withMember(body: string, name: string, json: string): string {
  return `${body.slice(0, -1)},"${name}":${json}}`;
}
