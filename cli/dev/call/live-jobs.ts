/** Jobs of live endpoints. */
import { type CallLine, NO_JOB, type QueueCall } from "../../server/requests/served-app.ts";
import { type CallContext, type CallDependencies, EndpointNotFound, withPlace } from "./call-context.ts";
import {
  answerWith,
  endLine,
  endRejected,
  JobCalls,
  type FollowedJob,
  lacksModules,
} from "../../calls/job-calls.ts";
import { functionCall, hashesOf } from "./live-request.ts";
import * as z from "zod";
import { GPU_FIELDS, gpuName, gpuShape } from "../../service/flash-operations.ts";
import { operation, type Service } from "../../service/service.ts";

/** How long a job is followed by default: installing packages may take minutes. */
const FOLLOW_DEFAULT_MS = 10 * 60_000;
const NO_SOURCES: ReadonlySet<string> = new Set();
const NO_INPUT = "{}";

export class LiveJobs {
  readonly #dependencies: CallDependencies;
  readonly #calls: JobCalls;

  constructor(dependencies: CallDependencies, signal: AbortSignal) {
    const { service } = dependencies;
    const gpus = new GpuNames(service);
    const onWorker = (endpointId: string, workerId: string, line: CallLine): void =>
      void gpus.of(endpointId, workerId).then((gpu) => line.running({ id: workerId, gpu }));
    this.#dependencies = dependencies;
    this.#calls = new JobCalls({ service, signal, onWorker });
  }

  /** Answers when the job has ended, or at its limit with the job as it is. */
  async runsync(context: CallContext, call: QueueCall): Promise<Response> {
    const job = await this.#withPlace(context, async (endpointId) => {
      // The service answers a repeated key with the same job, so missing sources could not be sent again.
      const isOnce = call.headers["idempotency-key"] !== undefined;
      const sentSources = isOnce ? NO_SOURCES : this.#dependencies.sources.of(endpointId);
      const first = await this.#attempt(context, call, endpointId, sentSources);
      if (isOnce || first instanceof Response || !lacksModules(first)) return first;
      this.#dependencies.sources.forget(endpointId);
      return await this.#attempt(context, call, endpointId, NO_SOURCES);
    });
    if (job instanceof Response) return job;
    endLine(context.line, job);
    return answerWith(job);
  }

  /** Answers with the job's id; its line in the log continues. */
  async run(context: CallContext, call: QueueCall): Promise<Response> {
    return await this.#withPlace(context, async (endpointId) => {
      // The caller does not wait, so missing sources could not be sent again.
      const submitted = await this.#submit(context, call, endpointId, NO_SOURCES);
      if (submitted instanceof Response) return submitted;
      void this.#watch(endpointId, submitted, context.line);
      return answerWith(submitted);
    });
  }

  /** Forwards any other operation unchanged. */
  async forward(context: CallContext, call: QueueCall): Promise<Response> {
    return await this.#withPlace(context, (endpointId) =>
      this.#calls.forward(endpointId, call, context.line),
    );
  }

  async #withPlace<T>({ endpoint }: CallContext, act: (endpointId: string) => Promise<T>): Promise<T> {
    const { session } = this.#dependencies;
    return await withPlace(session, endpoint, async ({ endpointId }) => await act(endpointId));
  }

  async #attempt(
    context: CallContext,
    call: QueueCall,
    endpointId: string,
    sentSources: ReadonlySet<string>,
  ): Promise<FollowedJob | Response> {
    const { line } = context;
    const lines = this.#dependencies.lines.expect(endpointId, line);
    try {
      const submitted = await this.#submit(context, call, endpointId, sentSources);
      if (submitted instanceof Response) return submitted;
      lines.ofJob(submitted.id);
      const order = { line, signal: call.signal, followMs: followMs(call.search) };
      const job = await this.#calls.follow(endpointId, submitted, order);
      if (!lacksModules(job))
        this.#dependencies.sources.add(endpointId, hashesOf(functionCall({ ...context, input: NO_INPUT })));
      return job;
    } finally {
      lines.ended();
    }
  }

  async #submit(
    context: CallContext,
    call: QueueCall,
    endpointId: string,
    sentSources: ReadonlySet<string>,
  ): Promise<FollowedJob | Response> {
    const { endpoint, line } = context;
    const { job = NO_JOB } = call;
    const isPlain = endpoint.resource.client_mode === true;
    const input = job.input ?? NO_INPUT;
    const sent = isPlain
      ? job
      : { ...job, input: this.#dependencies.pack(functionCall({ ...context, input }), sentSources) };
    const submitted = await this.#calls.submit(endpointId, sent, call, line);
    if (!(submitted instanceof Response)) return submitted;
    if (submitted.status === 404) throw new EndpointNotFound();
    await endRejected(line, submitted);
    return submitted;
  }

  async #watch(endpointId: string, submitted: FollowedJob, line: CallLine): Promise<void> {
    const lines = this.#dependencies.lines.expect(endpointId, line);
    lines.ofJob(submitted.id);
    await this.#calls.watch(endpointId, submitted, line).finally(() => lines.ended());
  }
}

/** The query parameter `wait`, in ms. */
function followMs(search: string): number {
  const wait = Number(new URLSearchParams(search).get("wait"));
  return wait > 0 ? wait : FOLLOW_DEFAULT_MS;
}

const endpointPods = operation(
  `query ($id: String) { myself { endpoint(id: $id) { pods { id machine { ${GPU_FIELDS} } } } } }`,
  {
    myself: z.object({
      endpoint: z
        .object({
          pods: z.array(z.object({ id: z.string(), machine: z.object(gpuShape).nullable() })),
        })
        .nullable(),
    }),
  },
);

/** Names of GPUs by worker, queried once per worker. */
class GpuNames {
  readonly #service: Service;
  readonly #cache = new Map<string, Promise<string | undefined>>();

  constructor(service: Service) {
    this.#service = service;
  }

  /** Undefined for a worker without a GPU, and where the query fails. */
  async of(endpointId: string, workerId: string): Promise<string | undefined> {
    const name = this.#cache.get(workerId) ?? this.#query(endpointId, workerId);
    this.#cache.set(workerId, name);
    return await name;
  }

  async #query(endpointId: string, workerId: string): Promise<string | undefined> {
    try {
      const { myself } = await this.#service.query(endpointPods, { id: endpointId });
      const pod = myself.endpoint?.pods.find(({ id }) => id === workerId);
      return pod?.machine ? gpuName(pod.machine) : undefined;
    } catch {
      return undefined;
    }
  }
}
