/** The Docker of this computer, or why there is none. */
import { existsSync } from "node:fs";
import Dockerode from "dockerode";
import { execa } from "execa";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../core/failure.ts";

const DEFAULT_SOCKET = "/var/run/docker.sock";
const NAMED_BY = "DOCKER_HOST";

/** A client whose daemon answers; throws a Failure that says what to do. */
export async function openDocker(cli: Cli): Promise<Dockerode> {
  const place = await findPlace(cli);
  const docker = place.socketPath === undefined ? new Dockerode() : new Dockerode(place);
  try {
    await docker.ping();
    return docker;
  } catch (error) {
    throw explained(cli, error, place);
  }
}

type Place = { readonly socketPath?: string; readonly hasCommand: boolean };

/** Where the `docker` command finds its daemon: some installations have another socket than the usual one. */
async function findPlace({ environment }: Cli): Promise<Place> {
  const { stdout, code } = await execa(
    "docker",
    ["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
    { env: environment, extendEnv: false, reject: false, stdin: "ignore" },
  );
  const hasCommand = code !== "ENOENT";
  const named = environment[NAMED_BY];
  if (named?.startsWith("ssh:")) {
    throw new Failure(`${NAMED_BY}=${named} is another computer, and a preview runs on this one.`, [
      `Unset ${NAMED_BY} to use the Docker of this computer.`,
    ]);
  }
  if (named) return { hasCommand };
  const [, socketPath] = /^(?:unix|npipe):\/\/(.+)$/.exec(stdout?.trim() ?? "") ?? [];
  return { hasCommand, ...(socketPath !== undefined && { socketPath }) };
}

function explained({ environment }: Cli, error: unknown, place: Place): Failure {
  const { code, message } = error as NodeJS.ErrnoException;
  const named = environment[NAMED_BY];
  if (named) {
    return new Failure(`No Docker daemon answers at ${NAMED_BY}=${named}: ${message}`, [
      `Start it there, or unset ${NAMED_BY} to use the Docker of this computer.`,
    ]);
  }
  if (code === "EACCES" || code === "EPERM") {
    return new Failure("Docker runs, but this account may not use it.", [
      "Add it to the group docker, and log in again: sudo usermod -aG docker $USER",
    ]);
  }
  const socket = place.socketPath ?? DEFAULT_SOCKET;
  if (!place.hasCommand && !existsSync(socket)) {
    return new Failure("Docker is not installed, and a preview runs each endpoint in a container.", [
      "Install it (https://docs.docker.com/get-docker/) and run this again.",
      "Without Docker: `flash dev --local` runs functions as plain processes.",
    ]);
  }
  return new Failure(`Docker is installed, but its daemon does not run (${socket}: ${message}).`, [
    "Start Docker Desktop, or the service: sudo systemctl start docker",
  ]);
}
