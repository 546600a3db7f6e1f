/** `edgerun shell`, `exec`, `port-forward`, `tunnel` and `ssh-config`: what is in a running container. */
import { Command, InvalidArgumentError } from "commander";
import type { Cli } from "../core/cli.ts";
import { readVariable, type Variables } from "./nouns.ts";
import { type ForwardedPort, readForwardedPort, readTcpPort } from "./forwarded-port.ts";

const ID = "id of a pod, or of a worker of an endpoint";

const exec = async () => await import("../tunnel/exec.ts");
const ports = async () => await import("../tunnel/ports.ts");

export function shellCommand(cli: Cli): Command {
  return new Command("shell")
    .description("Open a shell in a pod or worker; Enter ~ . ends one that hangs.")
    .argument("<id>", ID)
    .action(async (id: string) => (await exec()).openShell(cli, id));
}

type ExecFlags = {
  readonly terminal?: boolean;
  readonly stdin: boolean;
  readonly env: Variables;
  readonly directory?: string;
};

export function execCommand(cli: Cli): Command {
  return new Command("exec")
    .description("Run a command in a pod or worker; its exit code becomes that of this command.")
    .argument("<id>", ID)
    .argument("<command...>", "program and arguments, after --")
    .passThroughOptions()
    .option("-t, --terminal", "with a terminal, for programs that need one")
    .option("-n, --no-stdin", "with an empty standard input")
    .option("--env <name=value>", "variable of the command; may be given several times", readVariable, {})
    .option("--directory <path>", "directory in which it runs, absolute", readDirectory)
    .action(async (id: string, command: string[], { terminal = false, stdin, env, directory }: ExecFlags) =>
      (await exec()).execute(cli, id, {
        command: command[0] === "--" ? command.slice(1) : command, // which commander leaves after an argument
        hasTerminal: terminal,
        hasInput: stdin,
        environment: env,
        ...(directory !== undefined && { directory }),
      }),
    );
}

function readDirectory(path: string): string {
  if (path.startsWith("/")) return path;
  throw new InvalidArgumentError("It must start with /.");
}

export function portForwardCommand(cli: Cli): Command {
  const read = (text: string, before: readonly ForwardedPort[] = []) => [...before, readForwardedPort(text)];
  return new Command("port-forward")
    .description("Listen on 127.0.0.1, and pass connections on to TCP ports of a pod or worker.")
    .argument("<id>", ID)
    .argument("<ports...>", "such as 8080, 9000:8080, or 0:8080 for a free port here", read)
    .action(async (id: string, forwarded: readonly ForwardedPort[]) =>
      (await ports()).forwardPorts(cli, id, forwarded),
    );
}

export function tunnelCommand(cli: Cli): Command {
  return new Command("tunnel")
    .description("Connect standard input and output with a TCP port of a pod or worker, for ssh.")
    .argument("<id>", `${ID}; .edgerun at its end is left out`)
    .argument("<port>", "TCP port in the container", readTcpPort)
    .action(async (id: string, port: number) => (await ports()).tunnelPort(cli, id, port));
}

export function sshConfigCommand(cli: Cli): Command {
  return new Command("ssh-config")
    .description("Print lines for ~/.ssh/config, with which `ssh <pod>.edgerun` works.")
    .argument("[id]", "only for this pod")
    .action(async (id?: string) => (await import("../tunnel/ssh-config.ts")).showSshConfig(cli, id));
}
