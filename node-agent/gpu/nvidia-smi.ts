/** What nvidia-smi reports about this machine's GPUs. */
import { trimEndOf } from "../../src/net/trimming.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Gpu } from "../../src/contract/agent/agent.ts";
import { GPU_TIERS, tierOfModel } from "../../src/catalog/gpu-cards.ts";
import { withMigDevices } from "./mig-devices.ts";
import type { GpuTelemetry } from "../../src/contract/agent/telemetry.ts";

const run = promisify(execFile);

/** A faulty driver can block nvidia-smi for minutes. */
const QUERY_LIMIT_MS = 30_000;
const TELEMETRY_LIMIT_MS = 10_000;
const GPU_COLUMNS = ["index", "name", "memory.total", "mig.mode.current"];
const TELEMETRY_COLUMNS = [
  "index",
  "utilization.gpu",
  "memory.used",
  "memory.total",
  "temperature.gpu",
  "power.draw",
];

export type GpuReading =
  | {
      readonly kind: "found";
      readonly gpus: readonly Gpu[];
      /** Some card is in MIG mode: its parts are listed elsewhere. */
      readonly hasDividedCards?: boolean;
    }
  /** The machine has no NVIDIA driver, so no usable GPU. */
  | { readonly kind: "absent" }
  | { readonly kind: "failed"; readonly detail: string };

export async function readGpus(command = "nvidia-smi"): Promise<GpuReading> {
  try {
    const reading = parseGpuQuery(await query(command, GPU_COLUMNS, QUERY_LIMIT_MS));
    if (reading.kind !== "found" || !reading.hasDividedCards) return reading;
    const { stdout } = await run(command, ["-L"], { timeout: QUERY_LIMIT_MS });
    return { ...reading, gpus: withMigDevices(reading.gpus, stdout) };
  } catch (error) {
    if (hasField(error, "code") && error.code === "ENOENT") return { kind: "absent" };
    if (hasField(error, "killed") && error.killed === true) {
      return failed(`it gave no answer within ${QUERY_LIMIT_MS / 1000} s`);
    }
    // nvidia-smi writes the reason of a failure to stdout, rarely to stderr.
    const texts = [textOf(error, "stdout"), textOf(error, "stderr"), textOf(error, "message")];
    return parseGpuQuery(texts.find((text) => text !== "") ?? "");
  }
}

/** Parses the answer to a query of GPU_COLUMNS, which may also be an error message. */
export function parseGpuQuery(text: string): GpuReading {
  const lines = text.split("\n").map((line) => line.trim());
  const rows = lines
    .filter((line) => line !== "")
    .map((line) => line.split(",").map((field) => field.trim()));
  const gpus = rows.flatMap((row) => parseRow(row) ?? []);
  const hasDividedCards = rows.some(([, , , migMode]) => migMode === "Enabled");
  if (gpus.length > 0) return { kind: "found", gpus, ...(hasDividedCards && { hasDividedCards }) };
  if (rows.length === 0 || /no devices were found/i.test(text)) return { kind: "found", gpus: [] };
  return failed(lines.filter((line) => line !== "").join(" "));
}

function parseRow([index = "", name = "", memory = "", migMode = ""]: readonly string[]): Gpu | null {
  if (!/^\d+$/.test(index) || name === "" || name.startsWith("[")) return null;
  // A partitioned GPU cannot be assigned as a whole, so it belongs to no tier.
  const tier = migMode === "Enabled" ? null : (tierOfModel(name) ?? null);
  const memoryMb = Number.parseInt(memory, 10);
  const tierMemoryMb = tier === null ? 0 : GPU_TIERS[tier].memoryGb * 1024;
  return {
    index: Number(index),
    name,
    tier,
    memoryMb: Number.isNaN(memoryMb) ? tierMemoryMb : memoryMb,
    isSimulated: false,
  };
}

function failed(reason: string): GpuReading {
  const detail = `nvidia-smi cannot read the GPUs: ${reason}`;
  return { kind: "failed", detail: `${trimEndOf(detail, ".")}. Check the NVIDIA driver of this host.` };
}

function textOf(error: unknown, name: string): string {
  return hasField(error, name) && typeof error[name] === "string" ? error[name].trim() : "";
}

function hasField<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === "object" && value !== null && name in value;
}

/** Newest CUDA version that the driver of this machine supports, such as 12.4; undefined when it is unknown. */
export async function readCudaVersion(command = "nvidia-smi"): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, [], { timeout: QUERY_LIMIT_MS });
    return parseCudaVersion(stdout);
  } catch {
    return undefined; // readGpus reports what is wrong
  }
}

/** Parses the head of the table that nvidia-smi prints; newer drivers name two versions, of which the driver's counts. */
export function parseCudaVersion(table: string): string | undefined {
  return /CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)/.exec(table)?.[1];
}

/** How busy the GPUs are; empty when nvidia-smi is missing or fails, which the inventory reports. */
export async function readGpuTelemetry(command = "nvidia-smi"): Promise<readonly GpuTelemetry[]> {
  try {
    return parseGpuTelemetry(await query(command, TELEMETRY_COLUMNS, TELEMETRY_LIMIT_MS));
  } catch {
    return [];
  }
}

/** Parses the answer to a query of TELEMETRY_COLUMNS; null for what the driver does not report. */
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

/** Versions of nvidia-smi differ in whether they omit units, and in how they write "not available". */
function readNumber(field: string): number | null {
  const number = /^(\d+(?:\.\d+)?)(?: (?:%|MiB|C|W))?$/.exec(field)?.[1];
  return number === undefined ? null : Number(number);
}

async function query(command: string, columns: readonly string[], timeout: number): Promise<string> {
  const options = [`--query-gpu=${columns.join(",")}`, "--format=csv,noheader,nounits"];
  return (await run(command, options, { timeout })).stdout;
}
