/** The Docker daemon of this computer, and what to do when it cannot be used. */
import { existsSync } from "node:fs";
import Dockerode from "dockerode";
import { execa } from "execa";
import type { Cli } from "../core/cli.ts";
import { Failure } from "../../src/std/failure.ts";

const DEFAULT_SOCKET = "/var/run/docker.sock";
const NAMED_BY = "DOCKER_HOST";

export type DockerAccess = {
  readonly docker: Dockerode;
  /** By which other programs find the same daemon. */
  readonly environment: Readonly<Record<string, string>>;
};

/** Resolves when the daemon answers; throws a Failure that explains what to do. */
export async function openDocker(cli: Cli): Promise<DockerAccess> {
  const place = await findPlace(cli);
  const docker = place.socketPath === undefined ? new Dockerode() : new Dockerode(place);
  try {
    await docker.ping();
    return { docker, environment: place.socketPath ? { [NAMED_BY]: `unix://${place.socketPath}` } : {} };
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
    return new Failure("Docker is running, but this account may not use it.", [
      "Add the account to the group docker, and log in again: sudo usermod -aG docker $USER",
    ]);
  }
  const socket = place.socketPath ?? DEFAULT_SOCKET;
  if (!place.hasCommand && !existsSync(socket)) {
    return new Failure("Docker is not installed, and a preview runs each endpoint in a container.", [
      "Install it (https://docs.docker.com/get-docker/) and run this again.",
      "Without Docker: `flash dev --local` runs functions as plain processes.",
    ]);
  }
  return new Failure(`Docker is installed, but its daemon is not running (${socket}: ${message}).`, [
    "Start Docker Desktop, or the service: sudo systemctl start docker",
  ]);
}

/** Empties a directory of this computer as root, in a container of an image that is here. */
export async function removeAsRoot(docker: Dockerode, image: string, directory: string): Promise<void> {
  const container = await docker.createContainer({
    Image: image,
    User: "0",
    Entrypoint: ["find"],
    Cmd: ["/state", "-mindepth", "1", "-delete"],
    NetworkDisabled: true,
    HostConfig: { Binds: [`${directory}:/state`] },
  });
  try {
    await container.start();
    await container.wait();
  } finally {
    await container.remove({ force: true });
  }
}
