/** Metrics of an account's hosts and endpoints: one series per endpoint, host or GPU, and per state. */
import { expose, histogramSamples, type Family } from "../../domain/metrics/exposition.ts";
import { Activity } from "../../domain/metrics/activity.ts";
import type { FleetSnapshot, EndpointSnapshot, HostSnapshot } from "../../fleet/fleet-snapshot.ts";
import type { TotalsReply } from "../../endpoint/messages.ts";

export type MeasuredEndpoint = EndpointSnapshot & {
  /** Null when the object was not called or did not answer. */
  readonly totals: Extract<TotalsReply, { readonly kind: "totals" }> | null;
};

const MEGABYTE = 1024 * 1024;

export function exposeAccount(
  { hosts, pods }: Pick<FleetSnapshot, "hosts" | "pods">,
  endpoints: readonly MeasuredEndpoint[],
  omitted: number,
): string {
  return expose([
    ...hostFamilies(hosts),
    ...gpuFamilies(hosts),
    ...workerFamilies(endpoints),
    gauge(
      "edgerun_pods",
      "Pods that have a place, that wait for one, and that are stopped.",
      Object.entries(pods).map(([state, value]) => ({ labels: { state }, value })),
    ),
    ...jobFamilies(endpoints),
    gauge("edgerun_endpoints_omitted", "Endpoints without job metrics, since there are too many.", [
      { labels: {}, value: omitted },
    ]),
  ]);
}

const gauge = (name: string, help: string, samples: Family["samples"]): Family => ({
  name,
  help,
  type: "gauge",
  samples,
});

function hostFamilies(hosts: FleetSnapshot["hosts"]): Family[] {
  const each = (name: string, help: string, valueOf: (host: HostSnapshot) => number | null | undefined) =>
    gauge(
      name,
      help,
      hosts.flatMap((host) => valued({ host: host.hostId, name: host.name }, valueOf(host))),
    );
  const megabytes = (value: number | null | undefined) => value && value * MEGABYTE;
  return [
    each("edgerun_host_up", "Whether the host is connected.", ({ isPresent }) => Number(isPresent)),
    each("edgerun_host_workers", "Workers and pods of the host.", ({ workers }) => workers),
    each("edgerun_host_gpus", "GPUs of the host.", ({ gpus }) => gpus.total),
    each("edgerun_host_gpus_taken", "GPUs in use by workers and pods.", ({ gpus }) => gpus.taken),
    each("edgerun_host_cpu_ratio", "Share of all cores in use.", ({ telemetry }) =>
      ratio(telemetry?.cpuPercent),
    ),
    each("edgerun_host_memory_used_bytes", "Memory in use.", ({ telemetry }) =>
      megabytes(telemetry?.memoryUsedMb),
    ),
    each("edgerun_host_memory_bytes", "Memory.", ({ telemetry }) => megabytes(telemetry?.memoryTotalMb)),
    each("edgerun_host_disk_used_bytes", "Disk in use.", ({ telemetry }) => megabytes(telemetry?.diskUsedMb)),
    each("edgerun_host_disk_bytes", "Disk.", ({ telemetry }) => megabytes(telemetry?.diskTotalMb)),
  ];
}

function gpuFamilies(hosts: FleetSnapshot["hosts"]): Family[] {
  type Gpu = NonNullable<HostSnapshot["telemetry"]>["gpus"][number];
  const each = (name: string, help: string, valueOf: (gpu: Gpu) => number | null | undefined) =>
    gauge(
      name,
      help,
      hosts.flatMap(({ hostId, telemetry }) =>
        (telemetry?.gpus ?? []).flatMap((gpu) => valued({ host: hostId, gpu: `${gpu.index}` }, valueOf(gpu))),
      ),
    );
  const megabytes = (value: number | null) => value && value * MEGABYTE;
  return [
    each("edgerun_gpu_utilization_ratio", "Share of the time in which the GPU was busy.", (gpu) =>
      ratio(gpu.utilizationPercent),
    ),
    each("edgerun_gpu_memory_used_bytes", "Memory of the GPU in use.", (gpu) => megabytes(gpu.memoryUsedMb)),
    each("edgerun_gpu_memory_bytes", "Memory of the GPU.", (gpu) => megabytes(gpu.memoryTotalMb)),
    each("edgerun_gpu_temperature_celsius", "Temperature of the GPU.", (gpu) => gpu.temperatureC),
    each("edgerun_gpu_power_watts", "Power draw of the GPU.", (gpu) => gpu.powerW),
  ];
}

function workerFamilies(endpoints: readonly MeasuredEndpoint[]): Family[] {
  const states = endpoints.flatMap((endpoint) =>
    Object.entries(endpoint.workers).map(([state, value]) => ({
      labels: { ...labelsOf(endpoint), state },
      value,
    })),
  );
  const each = (valueOf: (endpoint: MeasuredEndpoint) => number) =>
    endpoints.map((endpoint) => ({ labels: labelsOf(endpoint), value: valueOf(endpoint) }));
  return [
    gauge("edgerun_endpoint_workers", "Workers by their state.", states),
    gauge(
      "edgerun_endpoint_workers_desired",
      "Workers that the autoscaler requests.",
      each(({ desired }) => desired),
    ),
    gauge(
      "edgerun_endpoint_workers_missing",
      "Requested workers without a host.",
      each(({ missing }) => missing),
    ),
  ];
}

function jobFamilies(endpoints: readonly MeasuredEndpoint[]): Family[] {
  const measured = endpoints.flatMap((endpoint) => {
    const { totals } = endpoint;
    return totals
      ? [{ labels: labelsOf(endpoint), jobs: totals.levels, activity: Activity.from(totals.total) }]
      : [];
  });
  const jobs = measured.flatMap(({ labels, jobs: { queued, running } }) => [
    { labels: { ...labels, state: "queued" }, value: queued },
    { labels: { ...labels, state: "running" }, value: running },
  ]);
  const ended = measured.flatMap(({ labels, activity: { counts } }) =>
    (["completed", "failed", "cancelled", "timed_out", "expired"] as const).map((state) => ({
      labels: { ...labels, state },
      value: counts[state],
    })),
  );
  const requests = measured.map(({ labels, activity }) => ({ labels, value: activity.counts.requests }));
  const times = (name: string, help: string, which: keyof Activity["times"]): Family => ({
    name,
    help,
    type: "histogram",
    samples: measured.flatMap((endpoint) =>
      histogramSamples(endpoint.labels, endpoint.activity.times[which]),
    ),
  });
  return [
    gauge("edgerun_endpoint_jobs", "Queued and running jobs, or requests to workers.", jobs),
    {
      name: "edgerun_endpoint_requests_total",
      help: "Jobs submitted, or requests to workers.",
      type: "counter",
      samples: requests,
    },
    {
      name: "edgerun_endpoint_jobs_ended_total",
      help: "Jobs, or requests to workers, by how they ended.",
      type: "counter",
      samples: ended,
    },
    times("edgerun_job_delay_seconds", "Time from submission until a worker took the job.", "delay"),
    times("edgerun_job_execution_seconds", "Time from there until the result.", "execution"),
    times("edgerun_job_cold_start_seconds", "Time that jobs waited for a worker to start.", "coldStart"),
    {
      name: "edgerun_job_cold_start_part_seconds",
      help: "What of that a part of the start took, where it took any time.",
      type: "histogram",
      samples: measured.flatMap(({ labels, activity: { coldStartParts } }) =>
        [...coldStartParts].flatMap(([part, histogram]) => histogramSamples({ ...labels, part }, histogram)),
      ),
    },
  ];
}

function labelsOf({ endpointId, name }: EndpointSnapshot) {
  return { endpoint: endpointId, name };
}

function ratio(percent: number | null | undefined): number | null | undefined {
  return percent && percent / 100;
}

/** One sample for a known value, none otherwise. */
function valued(
  labels: Record<string, string>,
  value: number | null | undefined,
): Family["samples"][number][] {
  return value == null ? [] : [{ labels, value }];
}
