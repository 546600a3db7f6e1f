/** Why a worker takes no requests: the probe, its answer, and what to change. */
import type { ListeningSocket } from "../../runtime/interface/runtime.ts";
import { type ProbeAnswer, HEALTH_PROBE_TIMEOUT_MS } from "./health.ts";
import type { ServerSettings } from "../../journal/journal.ts";

export type AnswerContext = {
  readonly settings: ServerSettings;
  /** What the worker listens on; null while that is not known. */
  readonly sockets: readonly ListeningSocket[] | null;
  /** Its loopback is not the agent's: it runs in a container. */
  readonly isIsolated: boolean;
};

/** Describes a probe's answer in one sentence. */
export function describeAnswer(answer: ProbeAnswer, context: AnswerContext): string {
  const { settings } = context;
  const probe = `GET ${settings.healthPath} on port ${settings.healthPort}`;
  switch (answer.kind) {
    case "refused":
      return describeAbsence(answer.port, context);
    case "timeout":
      return `${probe} was not answered within ${HEALTH_PROBE_TIMEOUT_MS / 1_000} s`;
    case "unreached":
      return describeSilence(answer, context);
    case "broken":
      return `${probe} got no answer that is HTTP (${answer.reason})`;
    case "status":
      if (answer.status === 200) return `${probe} answers 200`;
      if (answer.status === 204) return `initializing (204 on ${settings.healthPath})`;
      return `${probe} answers ${answer.status}; it must answer 200 once the worker can take requests`;
  }
}

function describeSilence(
  { host, port }: { host: string; port: number },
  { isIsolated }: AnswerContext,
): string {
  const silence = `no connection to ${host}:${port} came about`;
  if (!isIsolated) return silence;
  return `${silence}: the server accepts none, or the container's address cannot be reached from the agent, as when Docker runs in a virtual machine or on another host`;
}

function describeAbsence(port: number, { settings, sockets, isIsolated }: AnswerContext): string {
  if (sockets === null || sockets.length === 0) return `nothing listens on port ${port} yet`;
  const own = sockets.filter((socket) => socket.port === port);
  if (own.length > 0) {
    const bind = isIsolated ? "0.0.0.0" : "127.0.0.1 or 0.0.0.0";
    return `the server listens on ${listOf(own.map(formatSocket))} only; bind ${bind}`;
  }
  const listens = `nothing listens on port ${port}; the ${isIsolated ? "container" : "worker"} listens on ${listOf(sockets.map(nameOf))}`;
  if (!isIsolated)
    return `${listens}: let the server listen on the port that the variable PORT names (here ${settings.port})`;
  const reachable = sockets.filter((socket) => !isLoopback(socket));
  const ports = new Set((reachable.length > 0 ? reachable : sockets).map((socket) => socket.port));
  const variable = port === settings.port ? "PORT" : "PORT_HEALTH";
  const set =
    ports.size === 1 ? `set ${variable}=${[...ports].join("")}` : `set ${variable} to the right one`;
  return reachable.length > 0 ? `${listens}: ${set}` : `${listens}: bind 0.0.0.0, and ${set}`;
}

/** A socket that cannot be reached from outside the container. */
function isLoopback({ address }: ListeningSocket): boolean {
  return address.startsWith("127.") || address === "::1";
}

function nameOf(socket: ListeningSocket): string {
  return isLoopback(socket) ? `${formatSocket(socket)} only` : String(socket.port);
}

function formatSocket({ address, port }: ListeningSocket): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

const NAMED_MAX = 5;

function listOf(items: readonly string[]): string {
  const distinct = [...new Set(items)];
  if (distinct.length > NAMED_MAX) return `${distinct.slice(0, NAMED_MAX).join(", ")} and others`;
  if (distinct.length < 2) return distinct.join("");
  return `${distinct.slice(0, -1).join(", ")} and ${distinct.at(-1)}`;
}
