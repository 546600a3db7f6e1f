import type { Command } from "commander";
import { DockerRuntime } from "../runtime/docker/docker-runtime.ts";

/** `edgerun-agent network remove` */
export function addNetworkCommands(program: Command): void {
  program
    .command("network")
    .description("The Docker network of the workers.")
    .command("remove")
    .description("Take the network and its firewall rules from this host; no worker may be left.")
    .option("--network <name>", "its name")
    .action(async ({ network }: { network?: string }) => {
      const named = network === undefined ? {} : { networkName: network };
      await new DockerRuntime({ hostId: "", hasRealGpus: false, ...named }).removeNetwork();
    });
}
