/**
 * Every operation on a job in every state, over HTTP. A cell holds the HTTP status and the job's status, or
 * the code of the error. The table is the contract; a reply that differs from it is a fault of the edge.
 */
import { afterEach, describe, test, vi } from "vitest";
import { EdgeClient } from "./edge-client.ts";
import { isSceneName, SCENES, SCENE_KEY, type Scene, type SceneName } from "./job-scenes.ts";

const api = new EdgeClient();
const { call, openEvents, signInAsNewAccount } = api;

/**
 * read      GET and POST of status, status?wait and status-sync?wait
 * stream    GET and POST of stream?wait; the reply has an empty list of chunks beside the status
 * events    stream as server-sent events: the status of its last event, or open when none has come yet
 * again     run with the Idempotency-Key of the job: the same job and its status, or a new one
 * purged    how many jobs purge-queue removes
 * listed    status of the job in requests
 * counters  of health: inQueue inProgress completed failed retried
 *
 * A job whose ttl is over is gone for everybody at once; it leaves the counters, and what purge-queue counts,
 * when it is swept, 10 s later at most.
 */
const TABLE = `
state                         | read              | stream            | events            | cancel            | retry                 | again           | purged | listed      | counters
queued                        | 200 IN_QUEUE      | 200 IN_QUEUE      | 200 open          | 200 CANCELLED     | 409 job_not_retryable | 200 IN_QUEUE    | 1      | IN_QUEUE    | 1 0 0 0 0
running                       | 200 IN_PROGRESS   | 200 IN_PROGRESS   | 200 open          | 200 CANCELLED     | 409 job_not_retryable | 200 IN_PROGRESS | 0      | IN_PROGRESS | 0 1 0 0 0
running, with progress        | 200 IN_PROGRESS   | 200 IN_PROGRESS   | 200 open          | 200 CANCELLED     | 409 job_not_retryable | 200 IN_PROGRESS | 0      | IN_PROGRESS | 0 1 0 0 0
queued again, its worker lost | 200 IN_QUEUE      | 200 IN_QUEUE      | 200 open          | 200 CANCELLED     | 409 job_not_retryable | 200 IN_QUEUE    | 1      | IN_QUEUE    | 1 0 0 0 1
completed                     | 200 COMPLETED     | 200 COMPLETED     | 200 COMPLETED     | 200 COMPLETED     | 409 job_not_retryable | 200 COMPLETED   | 0      | COMPLETED   | 0 0 1 0 0
completed with nothing        | 200 COMPLETED     | 200 COMPLETED     | 200 COMPLETED     | 200 COMPLETED     | 409 job_not_retryable | 200 COMPLETED   | 0      | COMPLETED   | 0 0 1 0 0
failed                        | 200 FAILED        | 200 FAILED        | 200 FAILED        | 200 FAILED        | 200 IN_QUEUE          | 200 FAILED      | 0      | FAILED      | 0 0 0 1 0
failed, its worker lost twice | 200 FAILED        | 200 FAILED        | 200 FAILED        | 200 FAILED        | 200 IN_QUEUE          | 200 FAILED      | 0      | FAILED      | 0 0 0 1 1
failed, then retried          | 200 IN_QUEUE      | 200 IN_QUEUE      | 200 open          | 200 CANCELLED     | 409 job_not_retryable | 200 IN_QUEUE    | 1      | IN_QUEUE    | 1 0 0 1 1
cancelled while queued        | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 409 job_not_retryable | 200 CANCELLED   | 0      | CANCELLED   | 0 0 0 0 0
cancelled while running       | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 409 job_not_retryable | 200 CANCELLED   | 0      | CANCELLED   | 0 0 0 0 0
timed_out                     | 200 TIMED_OUT     | 200 TIMED_OUT     | 200 TIMED_OUT     | 200 TIMED_OUT     | 200 IN_QUEUE          | 200 TIMED_OUT   | 0      | TIMED_OUT   | 0 0 0 1 0
purged                        | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 200 CANCELLED     | 409 job_not_retryable | 200 CANCELLED   | 0      | CANCELLED   | 0 0 0 0 0
expired while queued          | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 1      | none        | 1 0 0 0 0
expired while queued, swept   | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
expired while running         | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 1 0 0 0
expired while running, swept  | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
retained out                  | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 1 0 0
retained out, swept           | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 1 0 0
unknown id                    | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
malformed id                  | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
another endpoint's id         | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
another account's id          | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found | 404 job_not_found     | 200 new         | 0      | none        | 0 0 0 0 0
another account's endpoint    | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found | 404 endpoint_not_found
`;

/** Members of a job as status, status-sync and runsync show it; those of the second list may be absent. */
const MEMBERS: Record<string, readonly [required: string, optional: string]> = {
  IN_QUEUE: ["delayTime executionTime id queue status", "retries"],
  IN_PROGRESS: ["delayTime executionTime id status workerId", "output retries"],
  COMPLETED: ["delayTime executionTime id status workerId", "output retries"],
  FAILED: ["delayTime error executionTime id status workerId", "output retries"],
  CANCELLED: ["delayTime executionTime id status workerId", "retries"],
  TIMED_OUT: ["delayTime error executionTime id status workerId", "retries"],
};

const TYPES: Record<string, string> = {
  id: "string",
  status: "string",
  workerId: "string",
  error: "string",
  delayTime: "integer",
  executionTime: "integer",
  retries: "integer",
};

afterEach(() => void vi.useRealTimers());

type Reply = Awaited<ReturnType<typeof call>>;
type Row = Record<string, string>;

function readTable(text: string): [SceneName, Row][] {
  const [head = [], ...lines] = text
    .trim()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
  return lines.map(([state = "", ...cells]) => {
    if (!isSceneName(state)) throw new Error(`There is no scene "${state}".`);
    return [state, Object.fromEntries(head.slice(1).map((name, index) => [name, cells[index] ?? ""]))];
  });
}

const rows = readTable(TABLE);

describe("a job in each state, and each operation on it", () => {
  test("every scene has its row", ({ expect }) => {
    expect(rows.map(([state]) => state)).toEqual(Object.keys(SCENES));
  });

  test.for(rows)("%s", async ([state, expected], { expect }) => {
    const build = async () => {
      await signInAsNewAccount(); // the host of an earlier scene must not get the worker of this one
      return SCENES[state](api);
    };
    const row: Row = {};
    const scene = await build();
    Object.assign(row, await lookAtAll(scene, expected["events"] === "200 open"));
    row["cancel"] = summary(await post(scene, `cancel/${scene.jobId}`));
    const second = await build();
    row["retry"] = summary(await post(second, `retry/${second.jobId}`));
    row["purged"] = countOf(await post(second, "purge-queue"), row["retry"]);
    row["again"] = await submitAgain(await build());
    expect(row).toEqual(expected);
  });
});

/** All that changes nothing: done together, because each wait lasts a second at least. */
async function lookAtAll({ endpointId, jobId }: Scene, isOpen: boolean): Promise<Row> {
  const base = `/v2/${endpointId}`;
  const reads = ["status/$", "status/$?wait=1000", "status-sync/$?wait=1000"].flatMap((path) =>
    ["GET", "POST"].map((method) => call(method, `${base}/${path.replace("$", jobId)}`)),
  );
  const streams = ["GET", "POST"].map((method) => call(method, `${base}/stream/${jobId}?wait=1000`));
  const [seen, streamed, events, listing, health] = await Promise.all([
    Promise.all(reads),
    Promise.all(streams),
    lastEvent(`${base}/stream/${jobId}`, isOpen),
    call("GET", `${base}/requests`),
    call("GET", `${base}/health`),
  ]);
  return {
    read: agreed(seen.map(summary)),
    stream: agreed(streamed.map(streamSummary)),
    events,
    listed: listing.status === 200 ? listed(listing, jobId) : summary(listing),
    counters: health.status === 200 ? counters(health) : summary(health),
  };
}

function post({ endpointId }: Scene, operation: string): Promise<Reply> {
  return call("POST", `/v2/${endpointId}/${operation}`);
}

async function submitAgain({ endpointId, jobId }: Scene): Promise<string> {
  const path = `/v2/${endpointId}/run`;
  const reply = await call("POST", path, { input: { a: 1 } }, { "Idempotency-Key": SCENE_KEY });
  if (reply.status === 200 && reply.body["id"] !== jobId) return "200 new";
  return summary(reply);
}

/** Status and word of a reply, once its form is what the contract says. */
function summary(reply: Reply): string {
  const { status, body, headers } = reply;
  if (!headers.get("Content-Type")?.startsWith("application/json")) return `${status} is not JSON`;
  if (status !== 200) return `${status} ${errorSummary(body)}`;
  return `${status} ${jobSummary(body)}`;
}

/** An error has four texts and no status, which one client would take for that of a job. */
function errorSummary(body: Record<string, unknown>): string {
  const isWhole = Object.keys(body).toSorted().join(" ") === "code detail error title";
  return isWhole ? String(body["code"]) : `malformed error ${JSON.stringify(body)}`;
}

function jobSummary(body: Record<string, unknown>): string {
  const status = String(body["status"]);
  const keys = Object.keys(body).toSorted();
  if (keys.join(" ") === "id status") return status; // cancel, retry and run
  const [required = "", optional = ""] = MEMBERS[status] ?? [];
  const missing = required.split(" ").filter((key) => !keys.includes(key));
  const unknown = keys.filter((key) => !`${required} ${optional}`.split(" ").includes(key));
  const mistyped = keys.filter((key) => TYPES[key] && typeOf(body[key]) !== TYPES[key]);
  if (missing.length + unknown.length + mistyped.length === 0) return status;
  return `${status} missing [${missing.join()}] unknown [${unknown.join()}] mistyped [${mistyped.join()}]`;
}

function typeOf(value: unknown): string {
  return Number.isInteger(value) ? "integer" : typeof value;
}

function streamSummary(reply: Reply): string {
  if (reply.status !== 200) return summary(reply);
  const { status, stream, ...more } = reply.body;
  const isWhole = Array.isArray(stream) && stream.length === 0 && Object.keys(more).length === 0;
  return isWhole ? `200 ${String(status)}` : `malformed ${JSON.stringify(reply.body)}`;
}

/** What an event stream ends with; of one that shall stay open, whether something comes all the same. */
async function lastEvent(path: string, isOpen: boolean): Promise<string> {
  await using events = await openEvents(path);
  if (events.status !== 200) return `${events.status} ${errorSummary(await events.json())}`;
  await events.comment();
  const next = events.next();
  // oxlint-disable-next-line edgerun/no-sleeps -- an open stream is one on which nothing comes for a while
  const event = await (isOpen ? Promise.race([next, scheduler.wait(500)]) : next);
  if (event === undefined) return "200 open";
  return `200 ${jobSummary(event.data as Record<string, unknown>)}`;
}

function listed({ body }: Reply, jobId: string): string {
  const { requests, total, hasMore, offset, limit } = body as { requests: Row[] } & Record<string, unknown>;
  const isWhole = total === requests.length && hasMore === false && offset === 0 && limit === 50;
  if (!isWhole) return `malformed ${JSON.stringify(body)}`;
  return requests.find(({ id }) => id === jobId)?.["status"] ?? "none";
}

function counters({ body }: Reply): string {
  const jobs = body["jobs"] as Record<string, number>;
  return ["inQueue", "inProgress", "completed", "failed", "retried"].map((name) => jobs[name]).join(" ");
}

/** A retry that went through has put one more job into the queue. */
function countOf(reply: Reply, retry: string): string {
  if (reply.status !== 200) return summary(reply);
  const isWhole = reply.body["status"] === "completed" && Object.keys(reply.body).length === 2;
  if (!isWhole) return `malformed ${JSON.stringify(reply.body)}`;
  return String(Number(reply.body["removed"]) - (retry === "200 IN_QUEUE" ? 1 : 0));
}

function agreed(cells: readonly string[]): string {
  return [...new Set(cells)].join(" / ");
}
