/** One look at a worker's health over HTTP. */
import { errorCode } from "../../../src/std/errors.ts";
import { request } from "node:http";
import { connect } from "node:net";
import { type ProbeAnswer, HEALTH_PROBE_TIMEOUT_MS } from "./health.ts";
import type { ServerSettings } from "../../journal/journal.ts";

/** Bytes to read of an answer's body, so that its sender sees no broken connection. */
export const HEALTH_BODY_MAX_BYTES = 64 * 1024;

/** Where a worker's server is reached. */
export type ServerLocation = ServerSettings & { readonly host: string };

/** Asks for the health; where that has a separate port, the port for requests must be open as well. */
export async function probeHealth(place: ServerLocation, signal: AbortSignal): Promise<ProbeAnswer> {
  // Not AbortSignal.timeout within AbortSignal.any: some versions of Node lose such a timer.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), HEALTH_PROBE_TIMEOUT_MS);
  const limit = AbortSignal.any([signal, late.signal]);
  try {
    const answer = await requestHealth(place, limit);
    const isHealthy = answer.kind === "status" && answer.status === 200;
    if (!isHealthy || place.port === place.healthPort) return answer;
    return (await probePort(place, limit)) ?? answer;
  } finally {
    clearTimeout(timer);
  }
}

/** Redirects are answers like others; of a body only so much is read that its sender sees no broken connection. */
function requestHealth(
  { host, healthPort, healthPath }: ServerLocation,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  return new Promise((resolve) => {
    let isConnected = false;
    const probe = request({
      host,
      port: healthPort,
      path: healthPath,
      agent: false,
      signal,
      headers: { "user-agent": "edgerun-agent", connection: "close" },
    });
    probe.on("socket", (socket) => socket.on("connect", () => (isConnected = true)));
    probe.on("error", (error) => {
      if (isConnected && signal.aborted) return resolve({ kind: "timeout" });
      resolve(
        isConnected ? { kind: "broken", reason: error.message } : connectionFailure(error, host, healthPort),
      );
    });
    probe.on("upgrade", (_, socket) => {
      socket.destroy();
      resolve({ kind: "status", status: 101 });
    });
    probe.on("response", (response) => {
      resolve({ kind: "status", status: response.statusCode ?? 0 });
      let received = 0;
      response.on("error", () => {}); // the answer is known; what follows does not matter
      response.on("data", (chunk: Buffer) => {
        received += chunk.byteLength;
        if (received > HEALTH_BODY_MAX_BYTES) response.destroy();
      });
    });
    probe.end();
  });
}

/** What is wrong with the port; null when a process listens on it. */
function probePort({ host, port }: ServerLocation, signal: AbortSignal): Promise<ProbeAnswer | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.on("error", (error) => resolve(connectionFailure(error, host, port)));
    socket.on("connect", () => {
      socket.destroy();
      resolve(null);
    });
  });
}

function connectionFailure(error: Error, host: string, port: number): ProbeAnswer {
  if (errorCode(error) === "ECONNREFUSED") return { kind: "refused", port };
  return { kind: "unreached", host, port };
}
