/** `edgerun top`: what endpoints and hosts do now, on one screen. */
import * as z from "zod";
import { openService } from "../configuration/settings.ts";
import type { Cli } from "../core/cli.ts";
import { operation, type Service } from "../service/service.ts";
import { type AccountEndpoint, endpoints, healthSchema } from "./endpoints.ts";
import { watching } from "./list.ts";

const string = z.string();
const number = z.number().nullable();
const loadSchema = z.object({
  name: string,
  isPresent: z.boolean(),
  workers: number,
  telemetry: z
    .object({
      cpuPercent: number,
      memoryUsedMb: number,
      memoryTotalMb: number,
      gpus: z
        .array(z.object({ utilizationPercent: number, memoryUsedMb: number, memoryTotalMb: number }))
        .nullable(),
    })
    .nullable(),
});
type HostLoad = z.infer<typeof loadSchema>;

const loadOfHosts = operation(
  `query { myself { hosts { name isPresent workers telemetry {
    cpuPercent memoryUsedMb memoryTotalMb gpus { utilizationPercent memoryUsedMb memoryTotalMb }
  } } } }`,
  { myself: z.object({ hosts: z.array(loadSchema) }) },
);

type Health = z.infer<typeof healthSchema>;
type EndpointState = { readonly endpoint: AccountEndpoint; readonly health: Health };

/** Endpoints beyond these are counted only: each is a request. */
const ENDPOINTS_MAX = 20;

/** Once where there is no terminal, or with `--json`. */
export async function showTop(cli: Cli): Promise<void> {
  const service = await openService(cli);
  const read = async () => await readState(cli, service);
  const show = await read();
  if (!cli.terminal.clear()) return show();
  await watching(cli, show, read);
}

async function readState(cli: Cli, service: Service): Promise<() => void> {
  const [all, { myself }] = await Promise.all([endpoints.rowsOf(service), service.query(loadOfHosts)]);
  const states = await Promise.all(
    all.slice(0, ENDPOINTS_MAX).map(async (endpoint) => ({
      endpoint,
      health: await service.read(`/v2/${endpoint.id}/health`, healthSchema),
    })),
  );
  return () => {
    cli.terminal.json({
      endpoints: states.map(({ endpoint: { id, name }, health }) => ({ id, name, ...health })),
      hosts: myself.hosts,
    });
    if (cli.terminal.isJson) return;
    showEndpoints(cli, states, all.length);
    cli.terminal.say();
    showHosts(cli, myself.hosts);
  };
}

function showEndpoints({ terminal }: Cli, states: readonly EndpointState[], count: number): void {
  if (states.length === 0) return terminal.say("There are no endpoints.");
  const titles = ["ENDPOINT", "QUEUED", "RUNNING", "FAILED", "BUSY", "IDLE", "STARTING", "MOST", "OBSTACLE"];
  terminal.table(
    titles,
    states.map(({ endpoint, health: { jobs, workers, obstacle } }) => [
      endpoint.name,
      String(jobs["inQueue"] ?? 0),
      String(jobs["inProgress"] ?? 0),
      String(jobs["failed"] ?? 0),
      String(workers["running"] ?? 0),
      String(workers["idle"] ?? 0),
      String(workers["initializing"] ?? 0),
      String(endpoint.workersMax),
      obstacle ?? "",
    ]),
  );
  if (count > states.length) terminal.say(`${count - states.length} more: edgerun endpoint list`);
}

function showHosts({ terminal }: Cli, hosts: readonly HostLoad[]): void {
  if (hosts.length === 0) return terminal.say("There are no hosts.");
  terminal.table(
    ["HOST", "WORKERS", "CPU", "MEMORY", "GPUS", "GPU MEMORY"],
    hosts.map(({ name, isPresent, workers, telemetry }) => {
      const gpus = telemetry?.gpus ?? [];
      return [
        isPresent ? name : `${name} (absent)`,
        String(workers ?? 0),
        telemetry?.cpuPercent == null ? "-" : `${Math.round(telemetry.cpuPercent)} %`,
        memoryOf(telemetry?.memoryUsedMb, telemetry?.memoryTotalMb),
        gpus.map(({ utilizationPercent }) => `${utilizationPercent ?? "-"} %`).join(" ") || "-",
        gpus.map((gpu) => memoryOf(gpu.memoryUsedMb, gpu.memoryTotalMb)).join(" ") || "-",
      ];
    }),
  );
}

const MB_PER_GB = 1_024;

function memoryOf(usedMb: number | null | undefined, totalMb: number | null | undefined): string {
  if (usedMb == null || totalMb == null) return "-";
  return `${(usedMb / MB_PER_GB).toFixed(1)}/${(totalMb / MB_PER_GB).toFixed(1)} GB`;
}
