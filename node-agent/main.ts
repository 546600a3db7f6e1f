import { hostname } from "node:os";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { DATA_CENTERS } from "../src/contract/data-centers.ts";
import { type RunSettings, runAgent } from "./run.ts";
import { AGENT_VERSION } from "./version.ts";

type RunFlags = {
  edge: string;
  joinToken?: string;
  state: string;
  runtime?: RunSettings["runtimeKind"];
  simulateGpus: boolean;
  name: string;
  dataCenter?: string;
  ephemeral: boolean;
  metricsPort?: number;
  metricsAddress: string;
};

const program = new Command("edgerun-agent")
  .description("Runs Edgerun workers on this machine.")
  .version(AGENT_VERSION);

program
  .command("run")
  .description("Connect this machine to an edge and run what it is assigned, until stopped.")
  .requiredOption("--edge <url>", "address of the edge")
  .addOption(
    new Option("--join-token <token>", "token of the first start; later starts need none").env(
      "EDGERUN_JOIN_TOKEN",
    ),
  )
  .option("--state <directory>", "where the agent keeps what it must remember", "/var/lib/edgerun-agent")
  .addOption(
    new Option("--runtime <kind>", "what runs the workers (default: docker when a daemon answers)").choices([
      "docker",
      "process",
    ]),
  )
  .option("--simulate-gpus", "offer GPUs of every tier that are not there", false)
  .option("--name <name>", "name of this host", hostname())
  .addOption(
    new Option("--data-center <id>", "where this host is, such as EU-RO-1").choices(
      DATA_CENTERS.map(({ id }) => id),
    ),
  )
  .option("--ephemeral", "remove all workers when the agent or its parent ends", false)
  .addOption(
    new Option(
      "--metrics-port <port>",
      "serve metrics for Prometheus at this port (default: do not)",
    ).argParser(Number),
  )
  .option("--metrics-address <address>", "address of this machine at which they are served", "127.0.0.1")
  .action(async (flags: RunFlags) => {
    process.exitCode = await runAgent({
      edgeUrl: flags.edge,
      joinToken: flags.joinToken,
      stateDir: resolve(flags.state),
      runtimeKind: flags.runtime,
      simulateGpus: flags.simulateGpus,
      name: flags.name,
      dataCenterId: flags.dataCenter,
      isEphemeral: flags.ephemeral,
      metrics:
        flags.metricsPort === undefined
          ? undefined
          : { address: flags.metricsAddress, port: flags.metricsPort },
    });
  });

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1); // what was opened so far must not keep a failed agent alive
}
