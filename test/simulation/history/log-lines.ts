/** Lines as containers print them, and as the edge shows them. */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import { PIECE_BYTES, type PrintedLine, type PrintedOutput } from "../host/printed-output.ts";

/** A line as the edge shows it. */
export type LineView = {
  readonly id: string;
  readonly at: number;
  readonly workerId: string;
  readonly source: string;
  readonly stream?: string;
  readonly line: string;
  readonly jobId?: string;
  readonly level?: string;
};

/** What a container prints. */
export type Printed = { readonly output: PrintedOutput; readonly spec: WorkerSpec; readonly token: string };

const CUT = " … (cut)";
const HIDDEN = "[secret]";

/** What cannot be true of a line that is shown. */
export function* mistakesOf(
  endpointId: string,
  view: LineView,
  { spec, token }: Printed,
  line: PrintedLine,
): Generator<string> {
  if (spec.endpointId !== endpointId) yield `in the logs of ${endpointId} instead of ${spec.endpointId}`;
  if (spec.workerId !== view.workerId) yield `as of ${view.workerId} instead of ${spec.workerId}`;
  if (view.stream !== line.stream) yield `as of ${view.stream} instead of ${line.stream}`;
  if (view.line !== expectedText(line.text, token)) yield `as "${view.line.slice(0, 120)}"`;
  const isOfOther = line.jobId !== null && view.jobId !== undefined && view.jobId !== line.jobId;
  if (isOfOther) yield `as of the job ${view.jobId} instead of ${line.jobId}`;
  if (line.namesJob && view.jobId === undefined) yield `as of no job, though it names one`;
}

/** The same of a pod, whose owner gets the bare texts. */
export function* mistakesOfPod(
  podId: string,
  text: string,
  { spec, token }: Printed,
  line: PrintedLine,
): Generator<string> {
  if (spec.workerId !== podId) yield `in the logs of ${podId} instead of ${spec.workerId}`;
  if (text !== expectedText(line.text, token)) yield `as "${text.slice(0, 120)}"`;
}

function expectedText(text: string, token: string): string {
  const masked = token === "" ? text : text.replaceAll(token, HIDDEN);
  return masked.length > PIECE_BYTES ? masked.slice(0, PIECE_BYTES) + CUT : masked;
}
