import { hostname } from "node:os";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { DATA_CENTERS } from "../src/contract/data-centers.ts";
import { careCommands } from "./care/commands.ts";
import { REFUSED_EXIT_CODE, Refusal } from "./refusal.ts";
import { type RunSettings, runAgent } from "./run.ts";
import { edgeOption, stateOption } from "./options.ts";
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
};

const program = new Command("edgerun-agent")
  .description("Runs Edgerun workers on this machine.")
  .version(AGENT_VERSION);

program
  .command("run")
  .description("Connect this machine to an edge and run what it is assigned, until stopped.")
  .addOption(edgeOption().makeOptionMandatory())
  .addOption(
    new Option("--join-token <token>", "token of the first start; later starts need none").env(
      "EDGERUN_JOIN_TOKEN",
    ),
  )
  .addOption(stateOption())
  .addOption(
    new Option("--runtime <kind>", "what runs the workers (default: docker when a daemon answers)")
      .choices(["docker", "process"])
      .env("EDGERUN_RUNTIME"),
  )
  .option("--simulate-gpus", "offer GPUs of every tier that are not there", false)
  .addOption(new Option("--name <name>", "name of this host").env("EDGERUN_NAME").default(hostname()))
  .addOption(
    new Option("--data-center <id>", "where this host is, such as EU-RO-1")
      .choices(DATA_CENTERS.map(({ id }) => id))
      .env("EDGERUN_DATA_CENTER"),
  )
  .option("--ephemeral", "remove all workers when the agent or its parent ends", false)
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
    });
  });

for (const command of careCommands()) program.addCommand(command);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof Refusal ? REFUSED_EXIT_CODE : 1); // what was opened so far must not keep a failed agent alive
}
