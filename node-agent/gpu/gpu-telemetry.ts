/** How busy this machine's GPUs are, as nvidia-smi says. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { GpuTelemetry } from "../../src/contract/agent/telemetry.ts";

const run = promisify(execFile);

const QUERY_LIMIT_MS = 10_000;
const COLUMNS = [
  "index",
  "utilization.gpu",
  "memory.used",
  "memory.total",
  "temperature.gpu",
  "power.draw",
] as const;

/** No GPU at all when nvidia-smi is not there or fails: the inventory tells of that. */
export async function readGpuTelemetry(command = "nvidia-smi"): Promise<readonly GpuTelemetry[]> {
  const options = [`--query-gpu=${COLUMNS.join(",")}`, "--format=csv,noheader,nounits"];
  try {
    const { stdout } = await run(command, options, { timeout: QUERY_LIMIT_MS });
    return parseGpuTelemetry(stdout);
  } catch {
    return [];
  }
}

/** Reads the answer to a query of `COLUMNS`; what the driver does not tell is null. */
export function parseGpuTelemetry(text: string): readonly GpuTelemetry[] {
  return text.split("\n").flatMap((line) => {
    const [index = "", ...values] = line.split(",").map((field) => field.trim());
    if (!/^\d+$/.test(index)) return [];
    const [utilizationPercent, memoryUsedMb, memoryTotalMb, temperatureC, powerW] = values.map(readNumber);
    if ([utilizationPercent, memoryUsedMb, temperatureC, powerW].every((value) => value == null)) return [];
    return {
      index: Number(index),
      utilizationPercent: utilizationPercent ?? null,
      memoryUsedMb: memoryUsedMb ?? null,
      memoryTotalMb: memoryTotalMb ?? null,
      temperatureC: temperatureC ?? null,
      powerW: powerW ?? null,
    };
  });
}

/** Versions differ in whether they leave units out, and in the words for "not available". */
function readNumber(field: string): number | null {
  const number = /^(\d+(?:\.\d+)?)(?: (?:%|MiB|C|W))?$/.exec(field)?.[1];
  return number === undefined ? null : Number(number);
}
