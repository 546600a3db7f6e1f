/** Workers of a load-balanced endpoint, which run server-script.mjs. */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Admission } from "../../node-agent/link/admission.ts";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { type AgentFixture, assignment } from "./agent-fixture.ts";

const SCRIPT = fileURLToPath(new URL("./server-script.mjs", import.meta.url));

export function serving(env: Record<string, string> = {}, overrides: Partial<Assignment> = {}): Assignment {
  return assignment({
    type: "LB",
    dockerArgs: `"${process.execPath}" "${SCRIPT}"`,
    env,
    ...overrides,
  });
}

/** The same as a container, with a fresh id because container names are shared by the whole machine. */
export function servingContainer(imageName: string, env: Record<string, string> = {}): Assignment {
  const workerId = `w-${randomUUID().slice(0, 8)}`;
  return assignment({ type: "LB", workerId, imageName, dockerArgs: "", env });
}

/** Assigns one worker and waits until it takes requests. */
export async function servingWorker(host: AgentFixture, env: Record<string, string> = {}): Promise<void> {
  host.edge.assign(serving(env));
  await host.edge.worker("worker-1", "ready");
}

export function openWorkers(host: AgentFixture): readonly string[] {
  return host.admissionControl.openWorkers("endpoint-1");
}

/** Admits a request to the worker; throws when the worker takes none. */
export function enter(host: AgentFixture, workerId = "worker-1", turnOut = () => {}): Admission {
  const entry = host.admissionControl.admit("endpoint-1", workerId, turnOut);
  if (entry === null) throw new Error(`${workerId} takes no requests`);
  return entry;
}

/** Calls a server directly, without admission. */
export async function command(
  place: { readonly host: string; readonly port: number },
  path: string,
): Promise<string> {
  const response = await fetch(`http://${place.host}:${place.port}${path}`, { method: "POST" });
  return response.text();
}

/** Where the server of a worker on the process runtime listens, even before the worker takes requests. */
export function placeOf(host: AgentFixture, workerId = "worker-1"): { host: string; port: number } {
  return { host: "127.0.0.1", port: Number(host.env(workerId, "PORT")) };
}

/** Waits until the worker is in the state and its detail matches. */
export async function said(host: AgentFixture, state: string, detail: RegExp): Promise<string> {
  const report = await host.edge.until(() =>
    host.edge.syncs.at(-1)?.workers.find((one) => one.state === state && detail.test(one.detail ?? "")),
  );
  return report.detail ?? "";
}
