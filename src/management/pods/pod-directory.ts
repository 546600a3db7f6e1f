/** Finds the HTTP ports of pods without reading D1 for each request. */
import { countFailure, networkOf, refuseExhausted } from "../../auth/request-rates.ts";
import { ServiceError } from "../../contract/errors.ts";
import { openDatabase } from "../../db/database.ts";
import { findPodPorts } from "../../db/pods.ts";
import { BoundedMap } from "../../domain/limits/bounded-map.ts";
import type { Env } from "../../env.ts";
import type { PodView } from "../../fleet/messages.ts";
import { portsOf } from "../nouns/pod.ts";
import { fleetObject } from "../objects.ts";
import { isUp } from "./pod-view.ts";

/** For so long a deleted pod is found, and the ports of an edited one are the earlier ones. */
const CACHE_MS = 5_000;
const CACHE_SIZE = 10_000;

/** A pod as everybody may reach it. */
export type ReachablePod = {
  readonly podId: string;
  readonly accountId: string;
  readonly httpPorts: readonly number[];
};

const cache = new BoundedMap<ReachablePod & { readonly until: number }>(CACHE_SIZE);

/**
 * The pod that has this HTTP port, which is undefined for what is no port; throws not_found when there is no such pod,
 * or its settings do not list the port. Anybody may ask: what was not found is counted for the network that asked.
 */
export async function requirePodPort(
  env: Env,
  request: Request,
  podId: string,
  port: number | undefined,
): Promise<ReachablePod & { readonly port: number }> {
  const now = Date.now();
  const cached = cache.get(podId);
  const isCached = cached !== undefined && now < cached.until;
  const network = networkOf(env, request);
  if (!isCached && network !== undefined) refuseExhausted("keyless", network, now);
  const pod = isCached ? cached : await load(env, podId, now);
  if (pod && port !== undefined && pod.httpPorts.includes(port)) return { ...pod, port };
  if (network !== undefined) await countFailure(env, "keyless", network, now);
  throw new ServiceError("not_found", explainMissing(podId, port, pod !== undefined));
}

function explainMissing(podId: string, port: number | undefined, isPod: boolean): string {
  if (!isPod) return `There is no pod ${podId.slice(0, 64)}. Check the id in the address.`;
  if (port === undefined) return `The address names no port of pod ${podId}: it must be /pods/<pod>/<port>/.`;
  return `Pod ${podId} has no HTTP port ${port}. Add '${port}/http' to its ports.`;
}

async function load(env: Env, podId: string, now: number): Promise<ReachablePod | undefined> {
  const found = await findPodPorts(openDatabase(env.DB), podId);
  if (!found) return undefined;
  const http = portsOf(found).filter(({ protocol }) => protocol === "http");
  const httpPorts = http.map(({ port }) => port);
  const pod = { podId, accountId: found.accountId, httpPorts, until: now + CACHE_MS };
  cache.set(podId, pod);
  return pod;
}

/** Why nobody answers for a pod, and whether that stays so until its owner starts it. */
export type Unreachable = { readonly isStopped: boolean; readonly why: string };

/** A pod is stopped, starts, or its host is away. */
export async function explainUnreachable(
  env: Env,
  { podId, accountId }: Pick<ReachablePod, "podId" | "accountId">,
): Promise<Unreachable> {
  const [view] = await fleetObject(env, accountId).podsOf(accountId, [podId]);
  return { isStopped: view?.desired === "stopped", why: explain(podId, view) };
}

function explain(podId: string, view: PodView | undefined): string {
  if (!view) return `Pod ${podId} was terminated.`;
  if (view.desired === "stopped") return `Pod ${podId} is stopped. Start it, then call again.`;
  if (view.host && !view.host.isPresent)
    return `The host of pod ${podId} is away. Call again when it is back.`;
  if (isUp(view))
    return `Pod ${podId} runs, and its host has not connected for requests yet. Call again in a moment.`;
  return `Pod ${podId} does not run yet. Call again in a moment.`;
}

/** Whether this host runs the pod, as Fleet knows. */
export async function runsPod(
  env: Pick<Env, "FLEET">,
  { hostId, accountId }: { readonly hostId: string; readonly accountId: string },
  podId: string,
): Promise<boolean> {
  const [view] = await fleetObject(env, accountId).podsOf(accountId, [podId]);
  return view?.worker != null && view.host?.hostId === hostId;
}
