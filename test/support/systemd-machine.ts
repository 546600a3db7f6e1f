/**
 * A Debian machine for tests that install things: a container in which systemd runs, on this machine's network.
 * It has Node at MACHINE_NODE, an nvidia-smi that tells of one GPU, and no Docker.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { execa } from "execa";
import { ensurePythonImage } from "../../scripts/images/python-image.ts";
import { inTurn } from "./turn.ts";
import { until } from "./until.ts";

const IMAGE = "edgerun-test/systemd:bookworm";
const PACKAGES = ["systemd-sysv", "ca-certificates", "curl", "procps"];
const NODE = resolve(import.meta.dirname, "../../node_modules/node/bin/node");
const WORKER = resolve(import.meta.dirname, "worker-script.mjs");
const START_LIMIT_MS = 120_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const NVIDIA_SMI = `#!/bin/sh
case $1 in
  *driver_version*) echo 550.54.15 ;;
  *) echo "0, NVIDIA GeForce RTX 4090, 24564, [N/A]" ;;
esac
`;

export const MACHINE_NODE = "/opt/node/bin/node";
export const MACHINE_WORKER = `${MACHINE_NODE} /opt/worker-script.mjs`;

export type Ran = { readonly code: number; readonly output: string };

export class SystemdMachine implements AsyncDisposable {
  /** Seen at the same path from the machine and from here. */
  readonly sharedDirectory: string;
  readonly #name: string;

  private constructor(name: string, sharedDirectory: string) {
    this.#name = name;
    this.sharedDirectory = sharedDirectory;
  }

  static async start(): Promise<SystemdMachine> {
    await ensureImage();
    const shared = await mkdtemp(join(tmpdir(), "edgerun-machine-"));
    const machine = new SystemdMachine(`edgerun-test-machine-${randomUUID().slice(0, 8)}`, shared);
    try {
      await execa("docker", machine.#runArguments());
      await machine.#booted();
      await machine.#placeNvidiaSmi();
      return machine;
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  #runArguments(): string[] {
    const temporary = ["/run", "/run/lock", "/tmp"].flatMap((path) => ["--tmpfs", path]);
    const mounts = [
      "/sys/fs/cgroup:/sys/fs/cgroup:rw",
      `${dirname(NODE)}:${dirname(MACHINE_NODE)}:ro`,
      `${WORKER}:/opt/worker-script.mjs:ro`,
      `${this.sharedDirectory}:${this.sharedDirectory}`,
    ].flatMap((mount) => ["--volume", mount]);
    const identity = ["--name", this.#name, "--hostname", "gpu-host", "--env", "container=docker"];
    return ["run", "--detach", "--tty", "--network", "host", ...identity, ...temporary, ...mounts, IMAGE];
  }

  async #booted(): Promise<void> {
    const look = async () => {
      const { output } = await this.run("systemctl is-system-running --wait");
      if (!/running|degraded/.test(output)) throw new Error(output);
      return true;
    };
    await until(look, "the start of systemd", START_LIMIT_MS);
  }

  async #placeNvidiaSmi(): Promise<void> {
    await this.run("cat > /usr/local/bin/nvidia-smi && chmod 755 /usr/local/bin/nvidia-smi", {
      input: NVIDIA_SMI,
    });
  }

  /** Runs a line in a shell of the machine, as root. */
  async run(
    line: string,
    { shell = "sh", input = "" }: { readonly shell?: string; readonly input?: string } = {},
  ): Promise<Ran> {
    const args = ["exec", "--interactive", this.#name, shell, "-c", line];
    const { exitCode = 1, all } = await execa("docker", args, { all: true, reject: false, input });
    return { code: exitCode, output: all };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await execa("docker", ["rm", "--force", "--volumes", this.#name], { reject: false });
    await rm(this.sharedDirectory, { recursive: true, force: true });
  }
}

/** Made from the image that the Python examples are made from, which is Debian; it stays for the next run. */
async function ensureImage(): Promise<void> {
  const base = await inTurn("images", async () => await ensurePythonImage(say));
  const install = `apt-get update && apt-get install --yes --no-install-recommends ${PACKAGES.join(" ")}`;
  const dockerfile = `FROM ${base.image}\nRUN ${install} && rm -rf /var/lib/apt/lists/*\nCMD ["/sbin/init"]\n`;
  await execa("docker", ["build", "--network", "host", "--tag", IMAGE, "-"], {
    input: dockerfile,
    all: true,
  });
}
