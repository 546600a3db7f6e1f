/**
 * Which object of an endpoint gets a new job: of two at random, the one in which fewer jobs waited last. What this isolate
 * knows of the objects came with earlier answers; an endpoint that it knows nothing of has one.
 */
import { BoundedMap } from "../../../domain/limits/bounded-map.ts";
import type { RateLimited, SubmitCall, SubmitOutcome, Unconfigured } from "../../../endpoint/messages.ts";
import { callEndpoint, callShard } from "../../../management/endpoints/endpoint-directory.ts";
import type { QueueContext } from "../context.ts";
import { withinLimits } from "../limits.ts";

const ENDPOINTS_REMEMBERED = 10_000;

/** Jobs that waited in each object when it last answered. */
type Spread = { readonly queued: number[] };

const spreads = new BoundedMap<Spread>(ENDPOINTS_REMEMBERED);

type Submitted = Exclude<SubmitOutcome, Unconfigured | RateLimited>;

/**
 * Submits a job. One with an idempotency key goes to the first object, where it is found again however many there are.
 */
export async function submitToShard(context: QueueContext, request: SubmitCall): Promise<Submitted> {
  const endpoint = context.get("endpoint");
  const { endpointId } = endpoint;
  const known = spreads.get(endpointId);
  const shard = known && !request.idempotencyKey ? choose(known) : 0;
  const call: SubmitCall = known ? { ...request, shards: known.queued.length } : request;
  const there =
    shard > 0 ? await callShard(context.env, endpoint, shard, (stub) => stub.submit(call)) : undefined;
  const outcome = there ?? (await callEndpoint(context.env, endpoint, (stub) => stub.submit(call)));
  const submitted = withinLimits<Submitted | RateLimited>(context, outcome) as Submitted;
  learn(endpointId, there ? shard : 0, submitted);
  return submitted;
}

function choose({ queued }: Spread): number {
  const first = Math.floor(Math.random() * queued.length);
  const second = (first + 1 + Math.floor(Math.random() * (queued.length - 1))) % queued.length;
  return (queued[first] ?? 0) <= (queued[second] ?? 0) ? first : second;
}

function learn(endpointId: string, shard: number, { spread }: Submitted): void {
  if (!spread) return;
  if (spread.shards === 1) {
    spreads.delete(endpointId);
    return;
  }
  const before = spreads.get(endpointId)?.queued ?? [];
  const queued = Array.from({ length: spread.shards }, (_, index) => before[index] ?? 0);
  queued[shard] = spread.queued;
  spreads.set(endpointId, { queued });
}
