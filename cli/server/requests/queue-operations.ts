/** The operations of the queue API, by their paths behind the name of an endpoint. */
import { RUN_BODY_MAX_BYTES, RUNSYNC_BODY_MAX_BYTES, WAIT_DEFAULT_MS } from "../../../src/contract/limits.ts";
import type { QueueCall } from "./served-app.ts";

type Described = {
  readonly operation: QueueCall["operation"];
  readonly methods: readonly string[];
  /** Its path ends with the id of a job. */
  readonly isOfJob?: true;
  /** It carries a job, of so many bytes at most. */
  readonly bodyMaxBytes?: number;
  /** The worker gets work, so code that cannot be read cannot be called by it. */
  readonly runsCode?: true;
  /** It changes nothing and clients repeat it: only its failures are worth a line. */
  readonly isPolled?: true;
  /** What the service waits by this name, where the caller says nothing. */
  readonly waitMs?: number;
};

const READ = ["GET", "POST"];
const OPERATIONS: ReadonlyMap<string, Described> = new Map<string, Described>(
  Object.entries({
    run: { operation: "run", methods: ["POST"], bodyMaxBytes: RUN_BODY_MAX_BYTES, runsCode: true },
    runsync: {
      operation: "runsync",
      methods: ["POST"],
      bodyMaxBytes: RUNSYNC_BODY_MAX_BYTES,
      runsCode: true,
    },
    status: { operation: "status", methods: READ, isOfJob: true, isPolled: true },
    "status-sync": {
      operation: "status",
      methods: READ,
      isOfJob: true,
      isPolled: true,
      waitMs: WAIT_DEFAULT_MS,
    },
    stream: { operation: "stream", methods: READ, isOfJob: true, isPolled: true },
    cancel: { operation: "cancel", methods: ["POST"], isOfJob: true },
    retry: { operation: "retry", methods: ["POST"], isOfJob: true, runsCode: true },
    "purge-queue": { operation: "purge-queue", methods: ["POST"] },
    health: { operation: "health", methods: ["GET"], isPolled: true },
    requests: { operation: "requests", methods: ["GET"], isPolled: true },
  }),
);

/** As ids of jobs are: nothing in them needs escaping. */
const JOB_ID = /^[\w-]+$/;

export type RequestedOperation = Described & { readonly jobId: string | undefined };

/** What a path asks for; undefined where it is none of the queue API. */
export function parseOperation(path: string): RequestedOperation | undefined {
  const [name = "", jobId, ...rest] = path.replace(/^\//, "").replace(/\/$/, "").split("/");
  const described = OPERATIONS.get(name);
  if (described === undefined || rest.length > 0) return undefined;
  if (described.isOfJob !== true) return jobId === undefined ? { ...described, jobId } : undefined;
  return jobId !== undefined && JOB_ID.test(jobId) ? { ...described, jobId } : undefined;
}

/** The query that the service is asked with. */
export function searchOf({ waitMs }: RequestedOperation, search: string): string {
  const query = new URLSearchParams(search);
  if (waitMs === undefined || query.has("wait")) return search;
  query.set("wait", String(waitMs));
  return `?${query.toString()}`;
}
