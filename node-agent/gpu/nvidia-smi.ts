/** What nvidia-smi says about this machine's GPUs. */
import { trimEndOf } from "../../src/net/trimming.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Gpu } from "../../src/contract/agent/agent.ts";
import { GPU_TIERS, tierOfModel } from "../../src/catalog/gpu-cards.ts";

const run = promisify(execFile);

/** A driver in trouble can keep nvidia-smi waiting for minutes. */
const QUERY_LIMIT_MS = 30_000;
const COLUMNS = ["index", "name", "memory.total", "mig.mode.current"];

export type GpuReading =
  | { readonly kind: "found"; readonly gpus: readonly Gpu[] }
  /** The machine has no NVIDIA driver, so no GPU that we could use. */
  | { readonly kind: "absent" }
  | { readonly kind: "failed"; readonly detail: string };

export async function readGpus(command = "nvidia-smi"): Promise<GpuReading> {
  try {
    const options = [`--query-gpu=${COLUMNS.join(",")}`, "--format=csv,noheader,nounits"];
    const { stdout } = await run(command, options, { timeout: QUERY_LIMIT_MS });
    return parseGpuQuery(stdout);
  } catch (error) {
    if (hasField(error, "code") && error.code === "ENOENT") return { kind: "absent" };
    if (hasField(error, "killed") && error.killed === true) {
      return failed(`it gave no answer within ${QUERY_LIMIT_MS / 1000} s`);
    }
    // The reason of a failure is written to the output, rarely to the errors.
    const texts = [textOf(error, "stdout"), textOf(error, "stderr"), textOf(error, "message")];
    return parseGpuQuery(texts.find((text) => text !== "") ?? "");
  }
}

/** Reads the answer to a query of `COLUMNS`, which may also be a sentence about what is wrong. */
export function parseGpuQuery(text: string): GpuReading {
  const lines = text.split("\n").map((line) => line.trim());
  const rows = lines
    .filter((line) => line !== "")
    .map((line) => line.split(",").map((field) => field.trim()));
  const gpus = rows.flatMap((row) => parseRow(row) ?? []);
  if (gpus.length > 0) return { kind: "found", gpus };
  if (rows.length === 0 || /no devices were found/i.test(text)) return { kind: "found", gpus: [] };
  return failed(lines.filter((line) => line !== "").join(" "));
}

function parseRow([index = "", name = "", memory = "", migMode = ""]: readonly string[]): Gpu | null {
  if (!/^\d+$/.test(index) || name === "" || name.startsWith("[")) return null;
  // A partitioned GPU can not be given away as a whole, so it belongs to no tier.
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
  const detail = `nvidia-smi can not read the GPUs: ${reason}`;
  return { kind: "failed", detail: `${trimEndOf(detail, ".")}. Check the NVIDIA driver of this host.` };
}

function textOf(error: unknown, name: string): string {
  return hasField(error, name) && typeof error[name] === "string" ? error[name].trim() : "";
}

function hasField<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === "object" && value !== null && name in value;
}
