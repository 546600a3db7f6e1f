/** The containers that tunnels lead to: pods, and workers of endpoints. */
import { missingManagementAccess, missingShellAccess } from "../../auth/access.ts";
import { countFailure, refuseExhausted } from "../../auth/request-rates.ts";
import { ServiceError } from "../../contract/errors.ts";
import { audit, type AuditSubject } from "../../db/audit-log.ts";
import { findPod } from "../../db/pods.ts";
import { authorOf, type RequestContext } from "../context.ts";
import { findAnyEndpoint } from "../endpoints/endpoint-directory.ts";
import { portsOf } from "../nouns/pod.ts";
import { fleetObject } from "../objects.ts";
import { explainUnreachable } from "../pods/pod-directory.ts";

/** What a tunnel is for: a command, or a TCP port. */
export type TunnelUse = { readonly kind: "exec" } | { readonly kind: "tcp"; readonly port: number };

/** A container of the caller's account. */
export type Container = {
  readonly id: string;
  readonly kind: "pod" | "worker";
  /** Name of the pod, or of the worker's endpoint. */
  readonly name: string;
  /** Null while no host runs it. */
  readonly hostId: string | null;
  /** Ports that the owner has declared as TCP. */
  readonly tcpPorts: readonly number[];
};

/**
 * The container to which the caller may open a tunnel for this use. Throws insufficient_permission; not_found, alike
 * for what does not exist and what is another account's; pod_stopped, or container_not_running when no host runs it.
 */
export async function requireContainer(
  context: RequestContext,
  id: string,
  use: TunnelUse,
): Promise<Container & { readonly hostId: string }> {
  const missingShell = missingAccessFor(use, context);
  refuseWithoutAny(context, use, missingShell);
  const container = await findContainer(context, id);
  if (missingShell !== undefined && !(use.kind === "tcp" && container.tcpPorts.includes(use.port))) {
    throw new ServiceError("insufficient_permission", missingShell);
  }
  const { hostId } = container;
  if (hostId !== null) return { ...container, hostId };
  const { accountId } = context.principal;
  const { isStopped, why } = await explainUnreachable(context.env, { podId: id, accountId });
  throw isStopped ? new ServiceError("pod_stopped", why) : notRunning(why);
}

/** Returns what the caller lacks for a use of any container; undefined when nothing is lacking. */
function missingAccessFor(use: TunnelUse, { principal }: RequestContext): string | undefined {
  const missing = missingShellAccess(principal);
  if (missing === undefined || use.kind === "exec") return missing;
  return `${missing} With graphql: WRITE, a key reaches a port that the pod declares: "${use.port}/tcp" in its ports.`;
}

/** Who may neither open shells nor change pods learns nothing of containers. */
function refuseWithoutAny(
  { principal }: RequestContext,
  use: TunnelUse,
  missingShell: string | undefined,
): void {
  if (missingShell === undefined) return;
  const isForPort = use.kind === "tcp" && missingManagementAccess(principal, "write") === undefined;
  if (!isForPort) throw new ServiceError("insufficient_permission", missingShell);
}

async function findContainer({ env, db, principal, now }: RequestContext, id: string): Promise<Container> {
  const { accountId } = principal;
  refuseExhausted("unknown", accountId, now);
  const [pod, place] = await Promise.all([
    findPod(db, accountId, id),
    fleetObject(env, accountId).placeOf(id),
  ]);
  const hostId = place?.hostId ?? null;
  if (pod) {
    const tcpPorts = portsOf(pod).flatMap(({ port, protocol }) => (protocol === "tcp" ? [port] : []));
    return { id, kind: "pod", name: pod.name, hostId, tcpPorts };
  }
  const endpoint = place && !place.isPod ? await findAnyEndpoint(env, place.endpointId) : undefined;
  if (endpoint?.accountId === accountId)
    return { id, kind: "worker", name: endpoint.name, hostId, tcpPorts: [] };
  await countFailure(env, "unknown", accountId, now);
  throw new ServiceError(
    "not_found",
    `There is no pod and no worker ${id.slice(0, 64)}. Check the id; workers end when they are scaled down.`,
  );
}

export function notRunning(why: string): ServiceError {
  return new ServiceError("container_not_running", why);
}

/** Records in the audit log that a tunnel was opened: what for, and nothing of what went through it. */
export async function recordTunnel(
  context: RequestContext,
  { kind, id, name }: Container,
  use: TunnelUse,
): Promise<void> {
  const fields = use.kind === "tcp" ? [`port ${use.port}`] : ["command"];
  await audit(context.db, authorOf(context), { kind, id, name, fields } satisfies AuditSubject);
}
