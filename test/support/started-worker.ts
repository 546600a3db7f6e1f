/** Workers started for a test: in a container, or as a plain process. */
import { execa } from "execa";

export type StartedWorker = {
  /** Sends SIGTERM and answers the exit code. */
  readonly terminate: () => Promise<number>;
  /** The exit code, once the worker ended by itself. */
  readonly ended: () => Promise<number>;
  readonly output: () => Promise<string>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Starts a container on the host's network, so that it reaches loopback; removed when out of scope. */
export async function startContainer(
  image: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<StartedWorker> {
  const settings = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const hardened = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "512"];
  const options = ["--detach", "--network", "host", ...hardened, ...settings];
  const { stdout: id } = await execa("docker", ["run", ...options, image, ...args]);
  const ended = async (): Promise<number> => Number((await execa("docker", ["wait", id])).stdout);
  return {
    ended,
    terminate: async () => {
      await execa("docker", ["kill", "--signal", "SIGTERM", id]);
      return ended();
    },
    output: async () => (await execa("docker", ["logs", id], { all: true })).all,
    [Symbol.asyncDispose]: async () => void (await execa("docker", ["rm", "--force", "--volumes", id])),
  };
}

/** Starts a process with nothing in its environment but PATH and what is given. */
export function startProcess(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): StartedWorker {
  const child = execa(file, args, {
    env: { PATH: process.env["PATH"], ...env },
    extendEnv: false,
    all: true,
    reject: false,
  });
  const ended = async (): Promise<number> => (await child).exitCode ?? -1;
  return {
    ended,
    terminate: () => {
      child.kill("SIGTERM");
      return ended();
    },
    output: async () => (await child).all,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await child;
    },
  };
}
