/** A request for an HTTP port of a pod, from the client to the pod and back. */
import { requireClient } from "../client-presence.ts";
import { clientAddress } from "../../auth/client-address.ts";
import { ServiceError } from "../../contract/errors.ts";
import { announcedLength } from "../../durable/request-body.ts";
import type { ForwardFailure, ForwardReply, NoWorker } from "../../forwarding/messages.ts";
import type { ResetReason } from "../../link/link-messages.ts";
import { podObject } from "../../management/objects.ts";
import { explainUnreachable, type ReachablePod } from "../../management/pods/pod-directory.ts";
import { ignoreFailure } from "../../std/errors.ts";
import { type ClientConnection, openAnswer } from "../load-balancing/answer.ts";
import type { Place } from "../load-balancing/endpoint-url.ts";
import { AFFINITY_HEADER } from "../load-balancing/headers.ts";
import { isUpgrade, requestHead } from "../load-balancing/request-head.ts";
import { encodeHead, requestBody, type ServeContext } from "../load-balancing/serve.ts";
import { openUpgrade, requestUpgrade } from "../load-balancing/upgrade.ts";
import { errorOfFailure } from "../load-balancing/worker-search.ts";

/** Time until a pod begins its answer, as clients of proxies of this kind expect it. */
const POD_ANSWER_LIMIT_MS = 100_000;

/** The caller has checked that the pod has declared the port. */
export async function servePod(
  context: ServeContext,
  pod: ReachablePod,
  port: number,
  place: Place,
): Promise<Response> {
  const request = context.req.raw;
  const { env, executionCtx } = context;
  const call = { requestId: crypto.randomUUID(), affinity: null, port, receivedAt: Date.now() };
  const abort = (reason: ResetReason): void => {
    const aborted = podObject(env, pod.podId).abortForwarded(call.requestId, reason);
    executionCtx.waitUntil(aborted.catch(ignoreFailure)); // an unreachable object has lost the request
  };
  request.signal.addEventListener("abort", () => abort("aborted"));
  requireClient(request.signal);
  const client = clientAddress(env, request);
  const forPod = { rootKey: env.ROOT_API_KEY };
  const head = encodeHead(requestHead(request, place, { requestId: call.requestId, client, forPod }));
  const ask = async () => {
    if (isUpgrade(request)) return await requestUpgrade(podObject(env, pod.podId), call, head);
    const body = await requestBody(request);
    const bodyBytes = announcedLength(request);
    return await podObject(env, pod.podId).forward({ ...call, head, body, bodyBytes });
  };
  const reply = await withinLimit(ask(), () => abort("timeout"));
  const waitUntil = (work: Promise<unknown>): void => executionCtx.waitUntil(work);
  const listener = { method: request.method, prefix: place.prefix, waitUntil, giveUp: abort };
  const response = await responseTo(reply, listener, async () => (await explainUnreachable(env, pod)).why);
  response.headers.delete(AFFINITY_HEADER); // a pod has no other workers
  return response;
}

type Reply = Awaited<ReturnType<typeof requestUpgrade>> | ForwardReply;

async function responseTo(
  reply: Reply,
  listener: ClientConnection,
  explain: () => Promise<string>,
): Promise<Response> {
  switch (reply.kind) {
    case "answer":
      return await openAnswer(reply, listener);
    case "upgraded":
      return openUpgrade(reply, listener.prefix);
    case "unconfigured": // no object of a pod is that
    case "wait":
    case "worker_gone":
      throw new ServiceError("pod_not_running", await explain());
    case "overloaded":
    case "failed":
      throw errorOf(reply);
  }
}

async function withinLimit<Answer>(reply: Promise<Answer>, onLate: () => void): Promise<Answer> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    onLate();
    reject(tooSlow());
  }, POD_ANSWER_LIMIT_MS);
  try {
    return await Promise.race([reply, late]);
  } finally {
    clearTimeout(timer);
  }
}

function errorOf(reply: Extract<NoWorker, { kind: "overloaded" }> | ForwardFailure): ServiceError {
  if (reply.kind === "overloaded") {
    return new ServiceError(
      "rate_limited",
      `${reply.limit} requests of this pod are in progress, which is its limit. Try again in a second.`,
      { retryAfterSeconds: 1 },
    );
  }
  if (reply.reason === "timeout") return tooSlow();
  return errorOfFailure({ ...reply, workerId: null }); // a pod is no worker that a client could name
}

function tooSlow(): ServiceError {
  return new ServiceError(
    "worker_too_slow",
    `The pod did not begin its answer within ${POD_ANSWER_LIMIT_MS / 1_000} s. Answer earlier and send the rest as it comes.`,
  );
}
