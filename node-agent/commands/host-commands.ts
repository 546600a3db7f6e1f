/** The commands that maintain a host. */
import { Command, InvalidArgumentError, Option } from "commander";
import { readArtifactUsage } from "../artifacts/artifact-directory.ts";
import { checkHost, exitCodeOf, reportLines } from "../doctor/checks.ts";
import { readFacts } from "../doctor/read-facts.ts";
import { checkedEdgeUrl } from "../edge/edge-url.ts";
import { edgeOption, plainHttpOption, readPath, stateOption } from "./options.ts";
import type { RuntimeKind } from "../runtime/interface/runtime.ts";
import { PINNED_KEY } from "../host/agent-signature.ts";
import { isConnected, statusLines, waitForAgent } from "./status.ts";
import { uninstall } from "./uninstall.ts";
import { upgrade } from "./upgrade.ts";
import { DockerRuntime } from "../runtime/docker/docker-runtime.ts";
import { Volumes, VOLUMES_DIRECTORY } from "../disk/volumes.ts";

const SECOND_MS = 1_000;
const CONNECT_SECONDS = 60;
const DRAIN_SECONDS = 600;

type Flags = { readonly edge?: string; readonly allowPlainHttp: boolean; readonly state: string };

export function hostCommands(): readonly Command[] {
  return [
    doctorCommand(),
    statusCommand(),
    upgradeCommand(),
    uninstallCommand(),
    networkCommand(),
    volumeCommand(),
  ];
}

function doctorCommand(): Command {
  return new Command("doctor")
    .description("Check everything that a host needs, and say how to fix problems.")
    .addOption(edgeOption())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .addOption(new Option("--runtime <kind>", "what runs the workers").env("EDGERUN_RUNTIME"))
    .option("--json", "findings as JSON", false)
    .action(async (flags: Flags & { readonly runtime?: RuntimeKind; readonly json: boolean }) => {
      const { edge: edgeUrl, allowPlainHttp, state: stateDir, runtime: requestedRuntime } = flags;
      const findings = checkHost(await readFacts({ edgeUrl, allowPlainHttp, stateDir, requestedRuntime }));
      if (flags.json) say(JSON.stringify({ findings }, null, 2));
      else reportLines(findings).forEach(say);
      process.exit(exitCodeOf(findings)); // a kept-alive connection must not delay it
    });
}

function statusCommand(): Command {
  return new Command("status")
    .description("Print what runs on this host. Fails when no agent runs, or it has not reached the edge.")
    .addOption(stateOption())
    .option("--wait <seconds>", "how long to wait for an agent that has reached the edge", seconds, 0)
    .option("--json", "as JSON", false)
    .action(async (flags: Flags & { readonly wait: number; readonly json: boolean }) => {
      const { state: stateDir } = flags;
      const status =
        (await waitForAgent(stateDir, flags.wait * SECOND_MS, isConnected)) ??
        (await waitForAgent(stateDir, 0, () => true));
      if (!status) throw new Error("No agent runs on this host. See: journalctl -u edgerun-agent");
      const usage = await readArtifactUsage(stateDir);
      if (flags.json) say(JSON.stringify({ ...status, artifacts: usage }, null, 2));
      else statusLines(status, Date.now(), usage).forEach(say);
      process.exitCode = isConnected(status) ? 0 : 1;
    });
}

function upgradeCommand(): Command {
  return new Command("upgrade")
    .description(
      "Replace the agent by the one that the edge serves. Workers and their jobs continue meanwhile.",
    )
    .addOption(edgeOption().makeOptionMandatory())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .option("--wait <seconds>", "time in which the new agent must connect", seconds, CONNECT_SECONDS)
    .option("--accept-key <key>", "key that signs the new agent, where the installation has lost its own")
    .action(async (flags: Required<Flags> & { readonly wait: number; readonly acceptKey?: string }) => {
      const agentPath = process.argv[1] ?? "";
      if (!agentPath.endsWith(".mjs")) throw new Error("This agent was not installed as one file.");
      process.exitCode = await upgrade({
        edgeUrl: checkedEdgeUrl(flags.edge, flags.allowPlainHttp),
        stateDir: flags.state,
        agentPath,
        connectLimitMs: flags.wait * SECOND_MS,
        trustedKey: flags.acceptKey ?? PINNED_KEY,
        say,
      });
    });
}

function uninstallCommand(): Command {
  return new Command("uninstall")
    .description("Finish running jobs, then remove the agent and everything that it created on this host.")
    .addOption(edgeOption())
    .addOption(plainHttpOption())
    .addOption(stateOption())
    .option("--wait <seconds>", "how long running jobs may take", seconds, DRAIN_SECONDS)
    .option("--now", "do not wait for running jobs", false)
    .action(async (flags: Flags & { readonly wait: number; readonly now: boolean }) => {
      const drainLimitMs = flags.now ? 0 : flags.wait * SECOND_MS;
      process.exitCode = await uninstall({
        edgeUrl: flags.edge === undefined ? undefined : checkedEdgeUrl(flags.edge, flags.allowPlainHttp),
        stateDir: flags.state,
        drainLimitMs,
        say,
      });
    });
}

function networkCommand(): Command {
  const network = new Command("network").description("The Docker network of the workers.");
  network
    .command("remove")
    .description("Remove the network and its firewall rules from this host; all workers must be gone.")
    .option("--network <name>", "its name")
    .action(async ({ network: name }: { network?: string }) => {
      const named = name === undefined ? {} : { networkName: name };
      await new DockerRuntime({ hostId: "", hasRealGpus: false, ...named }).removeNetwork();
    });
  return network;
}

function volumeCommand(): Command {
  const volume = new Command("volume").description("Network volumes on this host.");
  const place = ["--volumes <directory>", "where they are", readPath, VOLUMES_DIRECTORY] as const;
  const open = (directory: string) => new Volumes({ directory, createsMissing: false });
  volume
    .command("add <volumeId>")
    .description("Create a network volume on this host, as a directory that workers share.")
    .option(...place)
    .action(async (id: string, flags: { volumes: string }) => {
      say(await open(flags.volumes).create(id));
    });
  volume
    .command("list")
    .description("Print the ids of the network volumes of this host.")
    .option(...place)
    .action(async (flags: { volumes: string }) => {
      for (const id of await open(flags.volumes).ids()) say(id);
    });
  return volume;
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError("It must be a number of seconds.");
  }
  return value;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
