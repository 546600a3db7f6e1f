/** Endpoints whose workers did not become ready: why, what their workers printed last, and what to do. */
import * as z from "zod";
import { Failure } from "../../src/std/failure.ts";
import { readPrintedLine } from "../calls/printed-text.ts";
import type { Service } from "../service/service.ts";
import { type ReadyEndpoint, unreadyOf } from "./worker-wait.ts";

/** Lines of the log that are read, among which those of outdated workers are left out. */
const LINES_READ = 200;
const LINES_SHOWN = 10;

const logSchema = z.object({ lines: z.array(z.object({ workerId: z.string(), line: z.string() })) });
const workersSchema = z.object({ workers: z.array(z.object({ id: z.string(), isStale: z.boolean() })) });

export type WorkerFailure = {
  readonly name: string;
  readonly reason: string;
  /** The last lines that workers of the new version printed, the oldest first. */
  readonly log: readonly string[];
};

export async function workerFailures(
  service: Service,
  workers: readonly ReadyEndpoint[],
): Promise<readonly WorkerFailure[]> {
  return await Promise.all(
    unreadyOf(workers).map(async ({ id, name, reason }) => ({
      name,
      reason,
      log: await lastLines(service, id),
    })),
  );
}

/** Throws where an endpoint has failed. Older workers keep serving, but what was deployed does not run. */
export function requireNoFailure(failures: readonly WorkerFailure[]): void {
  if (failures.length === 0) return;
  const reasons = failures.flatMap(({ name, reason, log }) => [
    `${name}: ${reason}`,
    ...log.map((line) => `  ${name} │ ${line}`),
  ]);
  throw new Failure("Everything is saved, but not every endpoint has a ready worker.", [
    ...reasons,
    "Workers of the previous version keep running. Fix the problem and deploy again, or go back: flash rollback",
  ]);
}

/** None when they cannot be read: the failure itself is what matters. */
async function lastLines(service: Service, endpointId: string): Promise<readonly string[]> {
  try {
    const [{ lines }, { workers }] = await Promise.all([
      service.read(`/v2/${endpointId}/logs?source=container&limit=${LINES_READ}`, logSchema),
      service.read(`/v2/serverless/${endpointId}/workers`, workersSchema),
    ]);
    const outdated = new Set(workers.filter(({ isStale }) => isStale).map(({ id }) => id));
    return lines
      .filter(({ workerId }) => !outdated.has(workerId))
      .flatMap(({ line }) => readPrintedLine(line))
      .slice(-LINES_SHOWN);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}
