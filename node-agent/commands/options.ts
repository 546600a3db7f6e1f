/** Options that several commands have. Each may be set in the environment, where a service has its settings. */
import { resolve } from "node:path";
import { Option } from "commander";
import { ALLOWS_PLAIN_HTTP_BY_DEFAULT } from "../edge/edge-url.ts";

export function edgeOption(): Option {
  return new Option("--edge <url>", "address of the edge").env("EDGERUN_EDGE");
}

export function plainHttpOption(): Option {
  return new Option("--allow-plain-http", "speak to an edge of another computer without https").default(
    ALLOWS_PLAIN_HTTP_BY_DEFAULT,
  );
}

export function stateOption(): Option {
  return new Option("--state <directory>", "where the agent keeps what it must remember")
    .env("EDGERUN_STATE")
    .argParser(readPath)
    .default("/var/lib/edgerun-agent");
}

/** A path from where the command was started. */
export function readPath(path: string): string {
  return resolve(path);
}
