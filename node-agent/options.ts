/** Options that several commands have. Each may come from the environment, where a service has its settings. */
import { Option } from "commander";

export function edgeOption(): Option {
  return new Option("--edge <url>", "address of the edge").env("EDGERUN_EDGE");
}

export function stateOption(): Option {
  return new Option("--state <directory>", "where the agent keeps what it must remember")
    .env("EDGERUN_STATE")
    .default("/var/lib/edgerun-agent");
}
