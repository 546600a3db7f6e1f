/** Errors as OpenAI's clients read them: what each of ours is there, and what a worker meant by its own. */
import { ERRORS, type QueueErrorCode, cutMessage } from "../../contract/errors.ts";
import type { JsonValue } from "../../json/raw-json.ts";
import type { OpenaiErrorBody } from "../../contract/openai.ts";
import type { JobView } from "../../contract/job.ts";
import { readPythonLiteral } from "./python-literal.ts";

export type OpenaiErrorDetails = OpenaiErrorBody["error"] & {
  readonly status: number;
  /** False where OpenAI's clients would try again by themselves and must not. */
  readonly isRetryable: boolean;
};

type JsonObject = { readonly [name: string]: JsonValue };

/** What engines call the errors to which they give no status. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ["BadRequestError", 400],
  ["invalid_request_error", 400],
  ["NotFoundError", 404],
  ["not_found_error", 404],
]);

/** `vLLM returned HTTP 404: {"error": …}`, `Request to /v1/x failed with status 404`. */
const STATUS_IN_MESSAGE = /\b(?:HTTP|failed with status) ([45]\d\d)\b(?::\s*(.*))?$/s;
const TRACEBACK = "traceback: Traceback (most recent call last)";

/** An error of the edge. */
export function errorOfCode(code: QueueErrorCode, message: string): OpenaiErrorDetails {
  const { status, openai = code, isRetryable = true } = ERRORS[code];
  return errorDetails(
    status,
    { message, type: typeOfStatus(status), param: null, code: openai },
    isRetryable,
  );
}

/** What became of a job that ended without an output. */
export function errorOfJob({ status, error }: Pick<JobView, "status" | "error">): OpenaiErrorDetails {
  if (status === "TIMED_OUT") {
    return jobError(
      504,
      "job_timed_out",
      "The worker took longer than the endpoint's executionTimeout allows.",
    );
  }
  if (status === "CANCELLED") return jobError(409, "job_cancelled", "The job of this request was cancelled.");
  return errorOfString(error ?? "The job failed, and its worker did not say why.");
}

export const JOB_EXPIRED = jobError(
  504,
  "job_expired",
  "The job of this request was deleted before it had ended: its time to live was over.",
);

export const WORKER_LOST = jobError(
  500,
  "worker_lost",
  "The worker was lost while it answered. Its partial answer cannot be continued: send the request again.",
);

export const NO_ANSWER = jobError(
  500,
  "no_answer",
  "The worker's handler ended without an answer. See the endpoint's logs.",
);

export const TOO_MANY_ELEMENTS = jobError(
  502,
  "answer_unreadable",
  "The worker's answer is a list of more than 100,000 elements, which no route of OpenAI has.",
);

/** No worker will take the job; `reason` is the queue's own message. */
export function noWorkerError(reason: string): OpenaiErrorDetails {
  return jobError(503, "no_worker", `No worker can take the request. ${reason}`);
}

function jobError(status: number, code: string, message: string): OpenaiErrorDetails {
  return errorDetails(
    status,
    { message, type: typeOfStatus(status), param: null, code },
    isTransient(status),
  );
}

/** The error text of a failed job: JSON, the text of a Python dict, or plain text. */
export function errorOfString(errorString: string): OpenaiErrorDetails {
  const value = readJson(errorString) ?? readPythonLiteral(errorString);
  const found = isObject(value) ? errorOfObject(innerError(value)) : undefined;
  return found ?? errorOfMessage(errorString, {});
}

/** The same of an output as its text. */
export function errorInJson(json: string): OpenaiErrorDetails | undefined {
  return json.length <= ERROR_MAX_CHARACTERS ? errorInOutput(JSON.parse(json)) : undefined;
}

/** No error is longer; what is, is an answer, and not read for this. */
const ERROR_MAX_CHARACTERS = 256 * 1024;

/** An output that is an error: `{"error": {…}}`, or `{"object": "error", …}`; undefined for any other. */
export function errorInOutput(output: unknown): OpenaiErrorDetails | undefined {
  if (!isObject(output)) return undefined;
  if (isObject(output["error"])) return errorOfObject(innerError(output));
  if (output["object"] === "error") return errorOfObject(output);
  return typeof output["error"] === "string" && output["error"] !== ""
    ? errorOfString(output["error"])
    : undefined;
}

/** The body that goes to the client. */
export function errorBodyOf({ message, type, param, code }: OpenaiErrorDetails): OpenaiErrorBody {
  return { error: { message, type, param, code } };
}

/** Errors come wrapped, also more than once. */
function innerError(value: JsonObject): JsonObject {
  let inner = value;
  while (isObject(inner["error"])) inner = inner["error"];
  return inner;
}

function errorOfObject(error: JsonObject): OpenaiErrorDetails | undefined {
  const message = [error["message"], error["error_message"], error["error"], error["detail"]].find(
    isNonEmptyString,
  );
  return message === undefined ? undefined : errorOfMessage(message, error);
}

/** What the message and the other members of an error say together. */
function errorOfMessage(raw: string, error: JsonObject): OpenaiErrorDetails {
  const message = withoutTraceback(raw).replace(/^handler: /, "");
  const [, statusInMessage, detail = ""] = STATUS_IN_MESSAGE.exec(message) ?? [];
  const status = statusOf(error["code"]) ?? statusOf(error["status"]) ?? statusOf(statusInMessage ?? null);
  // An engine behind the worker reported more detail than the worker does.
  const engineError = statusInMessage === undefined ? undefined : readJson(detail);
  if (isObject(engineError)) {
    const inner = errorOfObject(innerError({ code: status ?? null, ...engineError }));
    if (inner) return { ...inner, status: status ?? inner.status };
  }
  const statedType = isNonEmptyString(error["type"]) ? error["type"] : undefined;
  const effectiveStatus = status ?? STATUS_OF_TYPE.get(statedType ?? "") ?? 500;
  const members = {
    message,
    type: statedType ?? typeOfStatus(effectiveStatus),
    param: isNonEmptyString(error["param"]) ? error["param"] : null,
    code: codeOf(error["code"]),
  };
  return errorDetails(effectiveStatus, members, isTransient(effectiveStatus));
}

function withoutTraceback(raw: string): string {
  const at = raw.indexOf(TRACEBACK);
  return at < 0 ? raw : raw.slice(0, at).trimEnd();
}

function errorDetails(
  status: number,
  { message, ...members }: OpenaiErrorBody["error"],
  isRetryable: boolean,
): OpenaiErrorDetails {
  return { status, message: cutMessage(message), ...members, isRetryable };
}

/** A worker that answers with these statuses has not begun the work. */
function isTransient(status: number): boolean {
  return status === 429 || status === 503;
}

function statusOf(code: JsonValue | undefined): number | undefined {
  const status = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
  const isError = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599;
  return isError ? status : undefined;
}

function codeOf(code: JsonValue | undefined): string | number | null {
  return isNonEmptyString(code) || (typeof code === "number" && Number.isInteger(code)) ? code : null;
}

function typeOfStatus(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

function readJson(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

function isNonEmptyString(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
