/** What stands around a host in tests: services on it, and machines beyond it in a network namespace of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { networkInterfaces } from "node:os";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const LISTENER = fileURLToPath(new URL("./reach-listener.mjs", import.meta.url));

/** A cable from the host to everything that is beyond it; one test at a time has it. */
const NAMESPACE = "edgerun-beyond";
const HOST_END = "edgerun-near";
const FAR_END = "edgerun-far";
/** A network for documentation: it belongs to nobody, and is no private one. */
const NEAR_ADDRESS = "198.51.100.1";
export const INTERNET = "198.51.100.7";
/** Metadata addresses of most clouds, of Azure, of Alibaba and of Oracle. */
export const METADATA = ["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192"];
export const LINK_LOCAL = "169.254.77.7";
export const PRIVATE_NETWORKS = ["10.99.7.7", "172.31.77.7", "192.168.177.7", "100.64.77.7"];
const FAR_ADDRESSES = [INTERNET, ...METADATA, LINK_LOCAL, ...PRIVATE_NETWORKS];

export type Target = {
  readonly name: string;
  readonly protocol: "tcp" | "udp";
  readonly host: string;
  readonly port: number;
};

type Listener = Pick<Target, "protocol" | "host" | "port">;

/** Listens on this machine, or inside a network namespace, until it is disposed of. */
export async function listen(listeners: readonly Listener[], namespace?: string): Promise<AsyncDisposable> {
  const command = [process.execPath, LISTENER];
  const [file = "", ...rest] = namespace ? ["ip", "netns", "exec", namespace, ...command] : command;
  const child: ChildProcess = spawn(file, rest, {
    env: { ...process.env, LISTENERS: JSON.stringify(listeners), ENDS_WITH_INPUT: "1" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const first = await Promise.race([once(child.stdout ?? child, "data"), ended]);
  if (!String(first[0]).startsWith("listening")) throw new Error("The listeners could not be opened.");
  return {
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      await ended;
    },
  };
}

/** Machines beyond the host, each of which answers on this TCP and UDP port. */
export async function openBeyond(port: number): Promise<AsyncDisposable> {
  await closeBeyond();
  await ip(`netns add ${NAMESPACE}`);
  await ip(`link add ${HOST_END} type veth peer name ${FAR_END} netns ${NAMESPACE}`);
  await ip(`addr add ${NEAR_ADDRESS}/24 dev ${HOST_END}`);
  await ip(`link set ${HOST_END} up`);
  await ip(`-n ${NAMESPACE} link set lo up`);
  for (const address of FAR_ADDRESSES) await ip(`-n ${NAMESPACE} addr add ${address}/24 dev ${FAR_END}`);
  await ip(`-n ${NAMESPACE} link set ${FAR_END} up`);
  for (const address of FAR_ADDRESSES.slice(1)) await ip(`route add ${address}/32 via ${INTERNET}`);
  const open = await listen(
    FAR_ADDRESSES.flatMap((host) => bothProtocols(host, port)),
    NAMESPACE,
  );
  return {
    async [Symbol.asyncDispose]() {
      await open[Symbol.asyncDispose]();
      await closeBeyond();
    },
  };
}

/** One that a test left when it was killed goes as well. */
async function closeBeyond(): Promise<void> {
  await ip(`link del ${HOST_END}`).catch(() => {});
  await ip(`netns del ${NAMESPACE}`).catch(() => {});
}

export function bothProtocols(host: string, port: number): readonly Listener[] {
  return [
    { protocol: "tcp", host, port },
    { protocol: "udp", host, port },
  ];
}

/** IPv4 addresses of this machine that others may know. Bridges of other tests come and go. */
export function hostAddresses(): readonly string[] {
  const lasting = Object.entries(networkInterfaces()).filter(
    ([name]) => !/^(br-|er-|veth|edgerun)/.test(name),
  );
  return lasting
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address);
}

async function ip(command: string): Promise<void> {
  await execa("ip", command.split(" "));
}
