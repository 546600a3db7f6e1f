/**
 * What a container with bad intentions can do. Each denial is tried twice: as a worker runs, and with the rule or
 * setting that protects taken away, where the same attempt must succeed.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import getPort from "get-port";
import { afterAll, beforeAll, describe, test } from "vitest";
import { ensureNodeImage } from "../../scripts/images/node-image.ts";
import { arrivalChain } from "../../node-agent/runtime/network/cluster-rules.ts";
import { bridgeName, forwardChain, inputChain } from "../../node-agent/runtime/network/firewall-rules.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import { removeWorkerNetwork } from "../../node-agent/runtime/create-runtime.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import {
  bothProtocols,
  hostAddresses,
  INTERNET,
  LINK_LOCAL,
  listen,
  METADATA,
  openBeyond,
  PRIVATE_NETWORKS,
  type Target,
} from "../support/surroundings.ts";
import { freePort } from "../support/free-port.ts";
import { inTurn } from "../support/turn.ts";
import { ExitLog, printed, shell, workerSpec } from "./runtime-conformance.ts";

const PROBE = fileURLToPath(new URL("../support/reach-probe.mjs", import.meta.url));
const LISTENER = fileURLToPath(new URL("../support/reach-listener.mjs", import.meta.url));

const IPV6_SETTINGS = "/proc/sys/net/ipv6/conf";

const hasDocker = await isDockerAvailable();
const isRoot = process.getuid?.() === 0;
if (hasDocker && !isRoot)
  process.stderr.write("\n!!!!!! HOSTILE CONTAINER TESTS SKIPPED: they need root !!!!!!\n\n");

/** A pod without ports and without a volume. */
const POD = { ports: [], listenAddress: "0.0.0.0", volumePath: null, volumeInGb: 0, volumeMountPath: "" };

const NODE_SCRIPT = ["node", "--input-type=module", "-e"];

type World = AsyncDisposable & {
  readonly options: DockerRuntimeOptions;
  readonly runtime: DockerRuntime;
  readonly bridge: string;
  readonly gateway: string;
  /** A worker that idles; attempts are made inside of it. */
  start(changes?: Partial<WorkerSpec>): Promise<string>;
};

const freshName = (): string => `edgerun-test-${randomUUID().slice(0, 8)}`;

/** A network that is named stays; else there is one for this world alone. */
async function openWorld(options: Partial<DockerRuntimeOptions> = {}): Promise<World> {
  const networkName = options.networkName ?? freshName();
  const whole = { hostId: freshName(), networkName, hasRealGpus: false, ...options };
  const runtime = new DockerRuntime(whole);
  const gateway = await runtime.agentAddress();
  const { image } = await ensureNodeImage();
  return {
    options: whole,
    runtime,
    gateway,
    bridge: bridgeName(networkName),
    async start(changes = {}) {
      const worker = workerSpec(image, "node -e 'setInterval(() => {}, 1e6)'", changes);
      await runtime.start(worker);
      return worker.workerId;
    },
    async [Symbol.asyncDispose]() {
      for (const { workerId } of await runtime.list()) await runtime.remove(workerId);
      if (options.networkName === undefined) await runtime.removeNetwork();
      await runtime.close();
    },
  };
}

type Answers = Record<string, string>;

/** Tries the targets inside a worker: by their names, "reached" or why not. A patient one waits long for an answer. */
async function probe(workerId: string, targets: readonly Target[], isPatient = false): Promise<Answers> {
  const command = [...NODE_SCRIPT, await readFile(PROBE, "utf8")];
  const settings = [`TARGETS=${JSON.stringify(targets)}`, ...(isPatient ? ["IS_PATIENT=1"] : [])];
  const env = settings.flatMap((one) => ["--env", one]);
  const { stdout } = await execa("docker", ["exec", ...env, `edgerun-${workerId}`, ...command]);
  return JSON.parse(stdout) as Answers;
}

/** Tries what shall be there to be reached, however slow this machine is. */
const reach = (workerId: string, targets: readonly Target[]): Promise<Answers> =>
  probe(workerId, targets, true);

function answersOf(targets: readonly Target[], answer: unknown): Record<string, unknown> {
  return Object.fromEntries(targets.map(({ name }) => [name, answer]));
}

function named(host: string, port: number): readonly Target[] {
  return bothProtocols(host, port).map((one) => ({ ...one, name: `${one.protocol} ${host}` }));
}

/** Takes the protection away until the next look of the agent. */
async function openRules(...bridges: readonly string[]): Promise<void> {
  const chains = bridges.flatMap(
    (bridge) =>
      [
        ["filter", inputChain(bridge)],
        ["filter", forwardChain(bridge)],
        ["security", forwardChain(bridge)],
      ] as const,
  );
  for (const [table, chain] of chains) {
    for (const tool of ["iptables", "ip6tables"]) {
      await execa(tool, ["-w", "-t", table, "-I", chain, "1", "-j", "ACCEPT"]);
    }
  }
}

/**
 * Packets of the bridge pass before Docker asks its chain for users, as they do whenever Docker makes a network and
 * has taken the jump to that chain out of the way.
 */
async function passBeforeUserChain(bridge: string): Promise<AsyncDisposable> {
  const rule = ["FORWARD", "-i", bridge, "-j", "ACCEPT"];
  await execa("iptables", ["-w", "-I", ...rule]);
  return {
    async [Symbol.asyncDispose]() {
      await execa("iptables", ["-w", "-D", ...rule]);
    },
  };
}

describe.runIf(hasDocker && isRoot)("a hostile container", () => {
  beforeAll(async () => {
    await ensureTestImage();
    await ensureNodeImage();
  });

  describe("reaches", () => {
    const denied = expectNot();

    test("no service of its host, on none of the host's addresses", async ({ expect }) => {
      await using world = await openWorld();
      const addresses = [world.gateway, ...hostAddresses()];
      const port = await freePort();
      const datagrams = addresses.map((host) => ({ protocol: "udp" as const, host, port }));
      await using _open = await listen([{ protocol: "tcp", host: "0.0.0.0", port }, ...datagrams]);
      await world.runtime.admit(await freePort());
      const worker = await world.start();
      const targets = addresses.flatMap((address) => named(address, port));
      expect(targets.length).toBeGreaterThanOrEqual(4);
      expect(await probe(worker, targets)).toEqual(answersOf(targets, denied));

      await openRules(world.bridge);
      expect(await reach(worker, targets)).toEqual(answersOf(targets, "reached"));
    });

    test("no service of its host's loopback", async ({ expect }) => {
      await using world = await openWorld();
      const port = await freePort();
      await using _open = await listen(bothProtocols("127.0.0.1", port));
      const targets = named("127.0.0.1", port);
      expect(await probe(await world.start(), targets)).toEqual(answersOf(targets, denied));
      const { stdout } = await execa(process.execPath, [PROBE], {
        env: { TARGETS: JSON.stringify(targets), IS_PATIENT: "1" },
      });
      expect(JSON.parse(stdout)).toEqual(answersOf(targets, "reached"));
    });

    test.runIf(existsSync(IPV6_SETTINGS))(
      "no service of its host by IPv6, even if both had an address",
      async ({ expect }) => {
        await using world = await openWorld();
        const port = await freePort();
        await using _open = await listen(bothProtocols("::", port));
        const worker = await world.start();
        await execa("sh", ["-c", ipv6Commands(world.bridge, "fe80::42")]);
        const targets = named("fe80::42%eth0", port);
        expect(await probe(worker, targets)).toEqual(answersOf(targets, denied));
        const { stdout: pid } = await execa("docker", [
          "inspect",
          "-f",
          "{{.State.Pid}}",
          `edgerun-${worker}`,
        ]);
        await execa("nsenter", ["-t", pid, "-n", "sh", "-c", ipv6Commands("eth0", "fe80::77")]);
        expect(await probe(worker, targets)).toEqual(answersOf(targets, denied));

        await openRules(world.bridge);
        expect(await reach(worker, targets)).toEqual(answersOf(targets, "reached"));
      },
    );

    test("the ports of agents while they run, and no other port", async ({ expect }) => {
      await using world = await openWorld();
      const host = world.gateway;
      const port = {
        own: await getPort({ host }),
        neighbour: await getPort({ host }),
        other: await getPort({ host }),
      };
      const targets = Object.entries(port).map(([name, at]) => ({
        name,
        protocol: "tcp" as const,
        host,
        port: at,
      }));
      await using _open = await listen(
        [port.own, port.other].map((at) => ({ protocol: "tcp", host, port: at })),
      );
      const neighbour = new DockerRuntime({ ...world.options, hostId: "neighbour" });
      {
        await using _neighbour = await listen([{ protocol: "tcp", host, port: port.neighbour }]);
        await world.runtime.admit(port.own);
        await neighbour.admit(port.neighbour);
        await neighbour.close();
        const worker = await world.start();
        expect(await reach(worker, targets)).toEqual({ own: "reached", neighbour: "reached", other: denied });
      }
      const worker = await world.start(); // the agent looks at its rules before each start
      await using _later = await listen([{ protocol: "tcp", host: "0.0.0.0", port: port.neighbour }]);
      expect(await reach(worker, targets)).toEqual({ own: "reached", neighbour: denied, other: denied });
    });

    test("no other worker", async ({ expect }) => {
      await using world = await openWorld();
      const listener = await world.start({
        dockerArgs: JSON.stringify({ cmd: [...NODE_SCRIPT, await readFile(LISTENER, "utf8")] }),
        env: { LISTENERS: JSON.stringify(bothProtocols("0.0.0.0", 8_000)) },
      });
      await printed(expect, world.runtime, listener, "listening");
      const worker = await world.start();
      const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
      const { stdout: address } = await execa("docker", ["inspect", "-f", format, `edgerun-${listener}`]);
      const targets = named(address, 8_000);
      expect(await probe(worker, targets)).toEqual(answersOf(targets, denied));

      await openRules(world.bridge);
      expect(await reach(worker, targets)).toEqual(answersOf(targets, "reached"));
    });

    test("no pod: neither its HTTP ports, nor the port at which others reach it", async ({ expect }) => {
      await using world = await openWorld();
      const port = await freePort();
      const httpPort = 8_888; // published nowhere
      const listeners = [8_000, httpPort].map((at) => ({ protocol: "tcp", host: "0.0.0.0", port: at }));
      const listener = await world.start({
        dockerArgs: JSON.stringify({ cmd: [...NODE_SCRIPT, await readFile(LISTENER, "utf8")] }),
        env: { LISTENERS: JSON.stringify(listeners) },
        pod: { ...POD, ports: [{ requested: 8_000, private: 8_000, public: port }] },
      });
      await printed(expect, world.runtime, listener, "listening");
      const other = await world.start({ pod: POD });
      const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
      const { stdout: own } = await execa("docker", ["inspect", "-f", format, `edgerun-${listener}`]);
      const targets = [
        { name: "http", protocol: "tcp" as const, host: own, port: httpPort },
        ...[world.gateway, ...hostAddresses()].map((host) => {
          return { name: host, protocol: "tcp" as const, host, port };
        }),
      ];
      const { stdout } = await execa(process.execPath, [PROBE], {
        env: { TARGETS: JSON.stringify(targets), IS_PATIENT: "1" },
      });
      expect(JSON.parse(stdout)).toEqual(answersOf(targets, "reached"));
      expect(await probe(other, targets)).toEqual(answersOf(targets, denied));

      await openRules(world.bridge);
      expect(await reach(other, targets)).toEqual(answersOf(targets, "reached"));
    });

    test("the pods of its own cluster at all ports, and not those of another, nor their bridge", async ({
      expect,
    }) => {
      await inTurn("clusters", async () => {
        await using world = await openWorld();
        const addresses = { own: "198.19.5.5", peer: "198.19.77.1", other: "198.19.9.9" };
        const ports = [await freePort(), await freePort()];
        await using _open = await listen([{ protocol: "tcp", host: "0.0.0.0", port: ports[0] ?? 0 }]);
        await world.runtime.admit(await freePort());
        await world.runtime.followClusters({
          ...{ network: "198.19.0.0/16", gateway: "198.19.0.1" },
          clusters: [
            { clusterId: "a", local: [addresses.own, addresses.peer], remote: [] },
            { clusterId: "b", local: [addresses.other], remote: [] },
          ],
        });
        const command = [...NODE_SCRIPT, await readFile(LISTENER, "utf8")];
        const listeners = ports.flatMap((port) => bothProtocols("0.0.0.0", port));
        const open = async (clusterAddress: string): Promise<string> => {
          const worker = await world.start({
            dockerArgs: JSON.stringify({ cmd: command }),
            env: { LISTENERS: JSON.stringify(listeners) },
            pod: { ...POD, clusterAddress },
          });
          await printed(expect, world.runtime, worker, "listening");
          return worker;
        };
        const [own, , other] = [
          await open(addresses.own),
          await open(addresses.peer),
          await open(addresses.other),
        ];
        const worker = await world.start();
        const at = (host: string) =>
          ports.flatMap((port) => named(host, port).map((one) => ({ ...one, name: `${one.name} ${port}` })));
        const peer = at(addresses.peer);
        expect(await reach(own, peer)).toEqual(answersOf(peer, "reached"));
        const closed = at(addresses.own);
        for (const stranger of [other, worker])
          expect(await probe(stranger, closed)).toEqual(answersOf(closed, denied));
        const beyond = ["198.19.0.1", world.gateway, addresses.other].flatMap((host) =>
          named(host, ports[0] ?? 0),
        );
        expect(await probe(own, beyond)).toEqual(answersOf(beyond, denied));

        const bridge = bridgeName(`${world.options.networkName}-clusters`);
        await openRules(world.bridge, bridge);
        for (const table of ["filter", "security"])
          await execa("iptables", ["-w", "-t", table, "-I", arrivalChain(bridge), "1", "-j", "ACCEPT"]);
        expect(await reach(other, closed)).toEqual(answersOf(closed, "reached"));
        await world.runtime.followClusters(undefined); // in use: it stays
        for (const { workerId } of await world.runtime.list()) await world.runtime.remove(workerId);
        await world.runtime.followClusters(undefined);
        const { stdout: networks } = await execa("docker", ["network", "ls", "--format", "{{.Name}}"]);
        expect(networks).not.toContain(`${world.options.networkName}-clusters`);
        for (const table of ["filter", "nat", "security"]) {
          const { stdout: rules } = await execa("iptables", ["-w", "-t", table, "-S"]);
          expect(rules).not.toContain(bridge);
        }
      });
    });

    test("the Internet, but no metadata service and no private network", async ({ expect }) => {
      await inTurn("beyond", async () => {
        await using world = await openWorld();
        const port = await freePort();
        await using _beyond = await openBeyond(port);
        const worker = await world.start();
        const open = named(INTERNET, port);
        const closed = [...METADATA, LINK_LOCAL, ...PRIVATE_NETWORKS].flatMap((address) =>
          named(address, port),
        );
        expect(await reach(worker, open)).toEqual(answersOf(open, "reached"));
        expect(await probe(worker, closed)).toEqual(answersOf(closed, denied));

        await openRules(world.bridge);
        expect(await reach(worker, closed)).toEqual(answersOf(closed, "reached"));
        await world.start(); // the agent looks at its rules before each start
        expect(await probe(worker, closed)).toEqual(answersOf(closed, denied));
      });
    });

    test("no private network even while Docker makes networks for others", async ({ expect }) => {
      await inTurn("beyond", async () => {
        const [opened = "", ...others] = PRIVATE_NETWORKS;
        await using world = await openWorld({ allowedNetworks: [`${opened}/32`] });
        const port = await freePort();
        await using _beyond = await openBeyond(port);
        const worker = await world.start();
        await using _passing = await passBeforeUserChain(world.bridge);
        const open = [INTERNET, opened].flatMap((address) => named(address, port));
        const closed = [...METADATA, LINK_LOCAL, ...others].flatMap((address) => named(address, port));
        expect(await reach(worker, open)).toEqual(answersOf(open, "reached"));
        expect(await probe(worker, closed)).toEqual(answersOf(closed, denied));
      });
    });

    test("of private networks only what the owner has opened", async ({ expect }) => {
      await inTurn("beyond", async () => {
        const [opened = "", ...others] = PRIVATE_NETWORKS;
        await using world = await openWorld({ allowedNetworks: [`${opened}/32`, "168.63.0.0/16"] });
        const port = await freePort();
        await using _beyond = await openBeyond(port);
        const worker = await world.start();
        const open = named(opened, port);
        const closed = [...METADATA, ...others].flatMap((address) => named(address, port));
        expect(await reach(worker, open)).toEqual(answersOf(open, "reached"));
        expect(await probe(worker, closed)).toEqual(answersOf(closed, denied));
      });
    });

    function expectNot(): unknown {
      return {
        asymmetricMatch: (value: unknown) => typeof value === "string" && value.startsWith("not reached"),
      };
    }
  });

  describe("can not", () => {
    const networkName = freshName();
    afterAll(() => removeWorkerNetwork(networkName));

    /** Where hosts have AppArmor, its profile stands in the way as well. */
    const NO_PROFILE = ["--security-opt", "apparmor=unconfined"];

    /** What it tries, and how a container must be made for that to work. */
    const attempts = [
      {
        what: "mount a file system",
        script: "busybox mount -t tmpfs none /tmp",
        needs: ["--cap-add", "SYS_ADMIN"],
      },
      { what: "make a device", script: "busybox mknod /tmp/disk b 8 0", needs: ["--cap-add", "MKNOD"] },
      {
        what: "open a raw socket",
        script: "busybox arping -c 1 -w 1 -U 127.0.0.1 2>&1 | busybox grep -qv permitted",
        needs: ["--cap-add", "NET_RAW"],
      },
      {
        what: "forward packets",
        script: "echo 1 > /proc/sys/net/ipv4/ip_forward",
        needs: ["--cap-add", "NET_ADMIN", "--security-opt", "systempaths=unconfined"],
      },
      {
        what: "say what the kernel does with a crash",
        script: "p=/proc/sys/kernel/core_pattern; read -r now < $p; echo $now > $p",
        needs: ["--security-opt", "systempaths=unconfined"],
      },
      {
        what: "make a control group",
        script:
          "d=/sys/fs/cgroup; [ -d $d/pids ] && d=$d/pids; busybox mkdir $d/mine && busybox rmdir $d/mine",
        needs: ["-v", "/sys/fs/cgroup:/sys/fs/cgroup"],
      },
      {
        what: "be root of a name space of its own",
        script: "busybox unshare -Ur true",
        needs: ["--security-opt", "seccomp=unconfined"],
      },
      {
        what: "see processes of the host",
        script: "set -- /proc/[0-9]*; [ $# -gt 15 ]",
        needs: ["--pid", "host"],
      },
      {
        what: "reach Docker",
        script: "[ -S /var/run/docker.sock ] || [ -S /run/docker.sock ]",
        needs: ["-v", "/var/run/docker.sock:/var/run/docker.sock"],
      },
      {
        what: "read logs of the kernel",
        script: "busybox dmesg > /dev/null",
        needs: ["--cap-add", "SYSLOG", "--security-opt", "seccomp=unconfined"],
      },
      {
        what: "leave its directory tree",
        script: "busybox chroot / true",
        needs: ["--cap-add", "SYS_CHROOT"],
      },
    ];

    /** Its own directory tree is a pod's to leave: sshd does, and nothing of the host is beyond. */
    const OPEN_TO_PODS = "leave its directory tree";

    /** What of it a worker could do, and what a pod. */
    let done: readonly string[] = [];
    let podDeeds: readonly string[] = [];

    beforeAll(async () => {
      await using world = await openWorld({ networkName });
      const exits = new ExitLog(world.runtime);
      const tries = attempts.map(({ what, script }) => `if ( ${script}; ); then echo "did ${what}"; fi`);
      const linesOf = async (changes: Partial<WorkerSpec>) => {
        const worker = workerSpec(TEST_IMAGE, shell([...tries, "echo over"].join("; ")), changes);
        await world.runtime.start(worker);
        await exits.of(worker.workerId);
        return await world.runtime.lastLines(worker.workerId, 100);
      };
      done = await linesOf({});
      podDeeds = await linesOf({ pod: POD });
      exits.stop();
    });

    test.for(attempts)("$what", async ({ what, script, needs }, { expect }) => {
      expect(done).toContain("over");
      expect(done).not.toContain(`did ${what}`);
      expect(podDeeds).toContain("over");
      if (what !== OPEN_TO_PODS) expect(podDeeds).not.toContain(`did ${what}`);

      const command = `if ( ${script}; ); then exit 7; else exit 8; fi`;
      const { exitCode } = await execa(
        "docker",
        ["run", "--rm", "--network", "none", ...NO_PROFILE, ...needs, TEST_IMAGE, "sh", "-c", command],
        { reject: false },
      );
      expect(exitCode).toBe(7);
    });

    test("become root by a program that is marked so", async ({ expect }) => {
      const script = [
        'import { chmodSync, copyFileSync } from "node:fs";',
        'import { execFileSync } from "node:child_process";',
        'copyFileSync(process.execPath, "/tmp/root"); chmodSync("/tmp/root", 0o4755);',
        'const how = { uid: 1000, gid: 1000, encoding: "utf8" };',
        'const uid = execFileSync("/tmp/root", ["-p", "process.geteuid()"], how);',
        'process.exit(uid.trim() === "0" ? 7 : 8);',
      ].join(" ");
      await using world = await openWorld({ networkName });
      const exits = new ExitLog(world.runtime);
      const worker = await world.start({ dockerArgs: JSON.stringify({ cmd: [...NODE_SCRIPT, script] }) });
      expect(await exits.of(worker)).toMatchObject({ exitCode: 8 });
      exits.stop();

      const { image } = await ensureNodeImage();
      const command = ["run", "--rm", "--network", "none", image, ...NODE_SCRIPT, script];
      expect((await execa("docker", command, { reject: false })).exitCode).toBe(7);
    });
  });
});

/** Gives an interface the IPv6 that Docker keeps from it. */
function ipv6Commands(name: string, address: string): string {
  return `echo 0 > ${IPV6_SETTINGS}/${name}/disable_ipv6; ip -6 addr add ${address}/64 dev ${name} nodad`;
}
