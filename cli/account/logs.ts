/** What `edgerun logs` does. */
import * as z from "zod";
import { followEndpointLog, type LogLine } from "../calls/endpoint-log.ts";
import { readPrintedLine } from "../calls/printed-text.ts";
import type { Cli } from "../core/cli.ts";
import { openEndpoint } from "./endpoints.ts";

export type LogOptions = {
  readonly follow?: boolean;
  readonly job?: string;
  readonly worker?: string;
  readonly search?: string;
  readonly level?: string;
  /** How long ago, in seconds. */
  readonly since?: number;
  readonly tail: number;
};

const pageSchema = z.object({
  lines: z.array(
    z.looseObject({
      source: z.string(),
      line: z.string(),
      at: z.number().optional(),
      workerId: z.string().optional(),
      jobId: z.string().optional(),
    }),
  ),
});

export async function showLogs(cli: Cli, nameOrId: string, options: LogOptions): Promise<void> {
  const { service, endpoint } = await openEndpoint(cli, nameOrId);
  const filter = filterOf(options);
  const from = options.since === undefined ? undefined : Date.now() - options.since * 1_000;
  const since = from === undefined ? "" : `&since=${from}`;
  const path = `/v2/${endpoint.id}/logs?limit=${options.tail}${since}${filter}`;
  const { lines } = await service.read(path, pageSchema);
  if (options.follow !== true) {
    cli.terminal.json({ endpoint: { id: endpoint.id, name: endpoint.name }, lines });
    if (!cli.terminal.isJson) for (const line of lines) showLine(cli, line);
    return;
  }
  for (const line of lines) showLine(cli, line);
  let next = (lines.at(-1)?.at ?? from ?? Date.now() - 1) + 1;
  const onLine = (line: LogLine): void => {
    next = (line.at ?? next) + 1;
    showLine(cli, line);
  };
  const reader = { since: () => next, limit: LINES_AFTER_LOSS, filter, onLine, signal: cli.signal };
  await followEndpointLog(service, endpoint.id, reader);
  cli.signal.throwIfAborted();
  cli.terminal.warn(`Endpoint '${endpoint.name}' was deleted.`);
}

/** Lines that were printed while the connection was lost. */
const LINES_AFTER_LOSS = 2_000;

function filterOf({ job, worker, search, level }: LogOptions): string {
  const given = Object.entries({ jobId: job, workerId: worker, search, level }).filter(
    ([, value]) => value !== undefined,
  );
  return given.map(([name, value]) => `&${name}=${encodeURIComponent(value ?? "")}`).join("");
}

/** With `--json` a line of JSON, which programs read one by one. */
function showLine(cli: Cli, line: LogLine): void {
  const { terminal } = cli;
  if (terminal.isJson) return terminal.writeResult(JSON.stringify(line));
  const { dim, cyan } = terminal.palette;
  const time = line.at === undefined ? "" : `${new Date(line.at).toTimeString().slice(0, 8)} `;
  const mark = line.source === "system" ? "•" : "│";
  for (const text of readPrintedLine(line.line)) {
    terminal.say(`${dim(time)}${cyan(line.workerId ?? "-")} ${dim(mark)} ${text}`);
  }
}
