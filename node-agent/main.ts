import { DISK_RESERVE_DEFAULT_GB, MODEL_CACHE_DEFAULT_GB } from "./disk/disk-space.ts";
import { errorMessage } from "../src/std/errors.ts";
import { isIP, isIPv4 } from "node:net";
import { hostname } from "node:os";
import { Command, InvalidArgumentError, Option } from "commander";
import { DATA_CENTERS } from "../src/catalog/data-centers.ts";
import { hostCommands } from "./commands/host-commands.ts";
import { checkedEdgeUrl } from "./edge/edge-url.ts";
import { edgeOption, plainHttpOption, readPath, stateOption } from "./commands/options.ts";
import { PUBLIC_PORTS_DEFAULT, type PortRange } from "./pods/pod-store.ts";
import { VOLUMES_DIRECTORY } from "./disk/volumes.ts";
import { EXIT_FAILURE, Failure } from "../src/std/failure.ts";
import { readAllowedNetwork } from "./runtime/network/firewall-rules.ts";
import { type RunSettings, runAgent } from "./run.ts";
import { AGENT_VERSION } from "../src/contract/agent/agent-version.ts";

const program = new Command("edgerun-agent")
  .description("Runs Edgerun workers on this machine.")
  .version(AGENT_VERSION);

program
  .command("run")
  .description("Connect this machine to an edge and run what it is assigned, until stopped.")
  .addOption(edgeOption().makeOptionMandatory())
  .addOption(plainHttpOption())
  .addOption(
    new Option(
      "--join-token <token>",
      "token of the first start; better in EDGERUN_JOIN_TOKEN, where other users cannot see it",
    ).env("EDGERUN_JOIN_TOKEN"),
  )
  .addOption(stateOption())
  .addOption(
    new Option("--runtime <kind>", "what runs the workers (default: docker when a daemon answers)")
      .choices(["docker", "process"])
      .env("EDGERUN_RUNTIME"),
  )
  .addOption(
    new Option(
      "--python-package <directory>",
      "holds the package edgerun, for plain processes that bring no files of an app",
    )
      .env("EDGERUN_PYTHON_PACKAGE")
      .argParser(readPath),
  )
  .option("--simulate-gpus", "offer GPUs of every tier that are not there", false)
  .option(
    "--desktop",
    "on a developer's computer: containers share its GPUs, run apps on linux/amd64, and Docker may run in a virtual machine",
    false,
  )
  .addOption(new Option("--name <name>", "name of this host").env("EDGERUN_NAME").default(hostname()))
  .addOption(
    new Option("--data-center <id>", "where this host is, such as EU-RO-1")
      .choices(DATA_CENTERS.map(({ id }) => id))
      .env("EDGERUN_DATA_CENTER"),
  )
  .addOption(
    new Option(
      "--disk-reserve-gb <gigabytes>",
      "free disk below which pulled images that no container uses are removed",
    )
      .default(DISK_RESERVE_DEFAULT_GB)
      .argParser(readGigabytes),
  )
  .addOption(
    new Option(
      "--model-cache-gb <gigabytes>",
      "disk that models may take: above it those that no worker uses are removed",
    )
      .env("EDGERUN_MODEL_CACHE_GB")
      .default(MODEL_CACHE_DEFAULT_GB)
      .argParser(readGigabytes),
  )
  .option("--ephemeral", "remove all workers when the agent or its parent ends", false)
  .option("--network <name>", "Docker network of the workers (default: edgerun-workers)")
  .addOption(
    new Option("--allow-network <cidr>", "private IPv4 network that workers may reach; may be repeated")
      .env("EDGERUN_ALLOW_NETWORK")
      .argParser(listOf(readAllowedNetwork))
      .default([]),
  )
  .addOption(
    new Option(
      "--allow-registry <host>",
      "registry of images that is not on the Internet, such as 10.1.2.3:5000; * is all; may be repeated",
    )
      .env("EDGERUN_ALLOW_REGISTRY")
      .argParser(listOf((text) => text))
      .default([]),
  )
  .option("--allow-open-network", "run containers also where nothing keeps them from local services", false)
  .addOption(
    new Option(
      "--allow-old-runtime",
      "run containers also with versions of Docker, runc or the NVIDIA toolkit that let images out",
    ).default(process.env["EDGERUN_ALLOW_OLD_RUNTIME"] === "true"),
  )
  .addOption(
    new Option("--volumes <directory>", "where network volumes are, each under its id")
      .default(VOLUMES_DIRECTORY)
      .env("EDGERUN_VOLUMES")
      .argParser(readPath),
  )
  .addOption(
    new Option(
      "--public-address <address>",
      "IP address or name at which clients reach this machine: TCP ports of pods are published there",
    )
      .env("EDGERUN_PUBLIC_ADDRESS")
      .argParser(readAddress),
  )
  .addOption(
    new Option("--public-ports <first-last>", "ports of this machine at which they are published")
      .env("EDGERUN_PUBLIC_PORTS")
      .argParser(readPortRange)
      .default(PUBLIC_PORTS_DEFAULT, `${PUBLIC_PORTS_DEFAULT.first}-${PUBLIC_PORTS_DEFAULT.last}`),
  )
  .addOption(
    new Option(
      "--cluster-address <address>",
      "IPv4 address of this machine at which other hosts reach it: pods of clusters on several hosts reach each other",
    )
      .env("EDGERUN_CLUSTER_ADDRESS")
      .argParser(readIPv4),
  )
  .addOption(
    new Option(
      "--mps-directory <directory>",
      "where the MPS daemon of this machine listens, such as /tmp/nvidia-mps: workers that share a GPU use it",
    )
      .env("EDGERUN_MPS_DIRECTORY")
      .argParser(readPath),
  )
  .option("--create-volumes", "make a network volume here when a worker wants one that is not there", false)
  .addOption(
    new Option(
      "--metrics-port <port>",
      "serve metrics for Prometheus at this port (default: do not)",
    ).argParser(Number),
  )
  .option("--metrics-address <address>", "address of this machine at which they are served", "127.0.0.1")
  .addOption(
    new Option("--log-level <level>", "the least that is logged; debug has lines for each job")
      .choices(["debug", "info", "warn", "error"])
      .env("EDGERUN_LOG_LEVEL")
      .default("info"),
  )
  .action(async (flags: RunSettings & { readonly allowPlainHttp: boolean }, command: Command) => {
    if (command.getOptionValueSource("joinToken") === "cli") {
      process.stderr.write(
        "warning: other users of this machine can see --join-token. Set EDGERUN_JOIN_TOKEN instead.\n",
      );
    }
    process.exitCode = await runAgent({ ...flags, edge: checkedEdgeUrl(flags.edge, flags.allowPlainHttp) });
  });

for (const command of hostCommands()) program.addCommand(command);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${error instanceof Failure ? error.text : errorMessage(error)}\n`);
  process.exit(error instanceof Failure ? error.exitCode : EXIT_FAILURE); // what was opened so far must not keep a failed agent alive
}

/** Reads an option that may be repeated, or hold several values as a comma list, as in the environment. */
function listOf(read: (text: string) => string): (text: string, earlier: string[]) => string[] {
  return (text, earlier) => [
    ...earlier,
    ...text
      .split(",")
      .filter((part) => part.trim() !== "")
      .map((part) => read(part.trim())),
  ];
}

/** An IP address, or a name of DNS. */
function readAddress(text: string): string {
  const address = text.trim();
  if (isIP(address) !== 0 || /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/.test(address)) return address;
  throw new InvalidArgumentError("Give an IP address or a host name, without a port.");
}

function readIPv4(text: string): string {
  if (isIPv4(text.trim())) return text.trim();
  throw new InvalidArgumentError("Give an IPv4 address of this machine, such as 10.1.2.3.");
}

function readPortRange(text: string): PortRange {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text.trim()) ?? [];
  const range = { first: Number(first), last: Number(last) };
  const isRange = range.first >= 1_024 && range.first <= range.last && range.last <= 65_535;
  if (first !== undefined && last !== undefined && isRange) return range;
  throw new InvalidArgumentError("Give a range of ports from 1024 to 65535, such as 20000-29999.");
}

function readGigabytes(text: string): number {
  const gigabytes = Number(text);
  if (text.trim() !== "" && Number.isFinite(gigabytes) && gigabytes >= 0) return gigabytes;
  throw new InvalidArgumentError("Give a number of GB, such as 20.");
}
