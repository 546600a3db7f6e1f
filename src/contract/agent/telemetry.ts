/** How much of a host is in use. Null for what the host cannot tell. */
import * as z from "zod";

/** Longer times are cut to this: the clock of a host may jump, and times must stay valid dates. */
export const AGO_MAX_MS = 366 * 86_400_000;

const amount = z.number().nonnegative().nullable();

export const gpuTelemetrySchema = z.object({
  index: z.int().nonnegative(),
  /** Share of the time in which the GPU worked. */
  utilizationPercent: amount,
  memoryUsedMb: amount,
  memoryTotalMb: amount,
  temperatureC: z.number().nullable(),
  powerW: amount,
});
export type GpuTelemetry = z.infer<typeof gpuTelemetrySchema>;

export const hostTelemetrySchema = z.object({
  /** How long ago it was read, in ms. */
  ago: z
    .int()
    .nonnegative()
    .transform((ms) => Math.min(ms, AGO_MAX_MS)),
  /** Percent of all cores together. */
  cpuPercent: amount,
  memoryUsedMb: amount,
  memoryTotalMb: amount,
  /** The disk on which the agent keeps its state. */
  diskUsedMb: amount,
  diskTotalMb: amount,
  networkReceivedBytesPerS: amount,
  networkSentBytesPerS: amount,
  /** Real ones only. */
  gpus: z.array(gpuTelemetrySchema).max(256),
});
export type HostTelemetry = z.infer<typeof hostTelemetrySchema>;
