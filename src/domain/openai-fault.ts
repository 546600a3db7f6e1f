/** Errors as OpenAI's clients read them: what each of ours is there, and what a worker meant by its own. */
import { cutMessage, ERROR_STATUS, type ErrorCode } from "../contract/errors.ts";
import type { JsonValue } from "../contract/json.ts";
import type { OpenaiErrorBody } from "../contract/openai.ts";
import type { JobView } from "./job-view.ts";
import { readPythonLiteral } from "./python-literal.ts";

export type OpenaiFault = OpenaiErrorBody["error"] & {
  readonly status: number;
  /** False where OpenAI's clients would try again by themselves and must not. */
  readonly isWorthRetrying: boolean;
};

type JsonObject = { readonly [name: string]: JsonValue };

/** The words of OpenAI for ours, where it has other ones. */
const CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: "invalid_api_key",
  rate_limited: "rate_limit_exceeded",
};
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
export function faultOfCode(code: ErrorCode, message: string): OpenaiFault {
  const status = ERROR_STATUS[code];
  const type = typeOfStatus(status);
  // A worker that was too slow once would be kept busy for as long again.
  const isWorthRetrying = code !== "worker_too_slow";
  return fault(status, { message, type, param: null, code: CODES[code] ?? code }, isWorthRetrying);
}

/** What became of a job that ended without an output. */
export function faultOfEnd({ status, error }: Pick<JobView, "status" | "error">): OpenaiFault {
  if (status === "TIMED_OUT") {
    return jobFault(
      504,
      "job_timed_out",
      "The worker took longer than the endpoint's executionTimeout allows.",
    );
  }
  if (status === "CANCELLED") return jobFault(409, "job_cancelled", "The job of this request was cancelled.");
  return faultOfErrorText(error ?? "The job failed, and its worker did not say why.");
}

export const JOB_EXPIRED = jobFault(
  504,
  "job_expired",
  "The job of this request was deleted before it had ended: its time to live was over.",
);

export const WORKER_LOST = jobFault(
  500,
  "worker_lost",
  "The worker was lost while it answered. What it had sent cannot be gone on with: send the request again.",
);

export const NO_ANSWER = jobFault(
  500,
  "no_answer",
  "The worker's handler ended without an answer. See the endpoint's logs.",
);

export const TOO_MANY_PARTS = jobFault(
  502,
  "answer_unreadable",
  "The worker's answer is a list of more than 100,000 elements, which no route of OpenAI has.",
);

/** Nobody will take the job; why is in the queue's own words. */
export function faultOfNoWorker(reason: string): OpenaiFault {
  return jobFault(503, "no_worker", `No worker can take the request. ${reason}`);
}

function jobFault(status: number, code: string, message: string): OpenaiFault {
  return fault(status, { message, type: typeOfStatus(status), param: null, code }, isForLater(status));
}

/** The error text of a failed job: JSON, the text of a Python dict, or words. */
export function faultOfErrorText(text: string): OpenaiFault {
  const value = readJson(text) ?? readPythonLiteral(text);
  const known = isObject(value) ? faultOfError(innerError(value)) : undefined;
  return known ?? faultOfWords(text, {});
}

/** The same of an output as its text. */
export function faultOfText(json: string): OpenaiFault | undefined {
  return json.length <= FAULT_MAX_CHARACTERS ? faultOfOutput(JSON.parse(json)) : undefined;
}

/** No error is longer; what is, is an answer, and not read for this. */
const FAULT_MAX_CHARACTERS = 256 * 1024;

/** An output that is an error: `{"error": {…}}`, or `{"object": "error", …}`; undefined for any other. */
export function faultOfOutput(output: unknown): OpenaiFault | undefined {
  if (!isObject(output)) return undefined;
  if (isObject(output["error"])) return faultOfError(innerError(output));
  if (output["object"] === "error") return faultOfError(output);
  return typeof output["error"] === "string" && output["error"] !== ""
    ? faultOfErrorText(output["error"])
    : undefined;
}

/** The body that goes to the client. */
export function bodyOfFault({ message, type, param, code }: OpenaiFault): OpenaiErrorBody {
  return { error: { message, type, param, code } };
}

/** Errors come wrapped, also more than once. */
function innerError(value: JsonObject): JsonObject {
  let inner = value;
  while (isObject(inner["error"])) inner = inner["error"];
  return inner;
}

function faultOfError(error: JsonObject): OpenaiFault | undefined {
  const message = [error["message"], error["error_message"], error["error"], error["detail"]].find(isText);
  return message === undefined ? undefined : faultOfWords(message, error);
}

/** What the message and the other members of an error say together. */
function faultOfWords(words: string, error: JsonObject): OpenaiFault {
  const message = withoutTraceback(words).replace(/^handler: /, "");
  const [, statusInMessage, detail = ""] = STATUS_IN_MESSAGE.exec(message) ?? [];
  const status = statusOf(error["code"]) ?? statusOf(error["status"]) ?? statusOf(statusInMessage ?? null);
  // An engine behind the worker said more than the worker does.
  const told = statusInMessage === undefined ? undefined : readJson(detail);
  if (isObject(told)) {
    const inner = faultOfError(innerError({ code: status ?? null, ...told }));
    if (inner) return { ...inner, status: status ?? inner.status };
  }
  const said = isText(error["type"]) ? error["type"] : undefined;
  const judged = status ?? STATUS_OF_TYPE.get(said ?? "") ?? 500;
  const members = {
    message,
    type: said ?? typeOfStatus(judged),
    param: isText(error["param"]) ? error["param"] : null,
    code: codeOf(error["code"]),
  };
  return fault(judged, members, isForLater(judged));
}

function withoutTraceback(words: string): string {
  const at = words.indexOf(TRACEBACK);
  return at < 0 ? words : words.slice(0, at).trimEnd();
}

function fault(
  status: number,
  { message, ...members }: OpenaiErrorBody["error"],
  isWorthRetrying: boolean,
): OpenaiFault {
  return { status, message: cutMessage(message), ...members, isWorthRetrying };
}

/** With these it is said that the work was not begun. */
function isForLater(status: number): boolean {
  return status === 429 || status === 503;
}

function statusOf(code: JsonValue | undefined): number | undefined {
  const status = typeof code === "string" && /^\d{3}$/.test(code) ? Number(code) : code;
  const isError = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599;
  return isError ? status : undefined;
}

function codeOf(code: JsonValue | undefined): string | number | null {
  return isText(code) || (typeof code === "number" && Number.isInteger(code)) ? code : null;
}

function typeOfStatus(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

function readJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
