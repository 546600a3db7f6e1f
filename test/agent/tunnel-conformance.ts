/** What tunnels into the containers of a host do, on any runtime: frames of the link of the host in, real commands out. */
import { randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import { Reachability } from "../../node-agent/edge/edge-context.ts";
import { SILENT_LOG } from "../../node-agent/core/log.ts";
import { TIMING, type Timing } from "../../node-agent/core/timing.ts";
import { FLAG_FIN, FRAME } from "../../src/link/link-frame.ts";
import { Links } from "../../node-agent/link/links.ts";
import type { Runtime } from "../../node-agent/runtime/interface/runtime.ts";
import { Tunnels } from "../../node-agent/tunnel/tunnels.ts";
import { LINK_TOKEN, ScriptedLink } from "../support/scripted-link.ts";
import { TunnelClient } from "../support/tunnel-client.ts";
import { until } from "../support/until.ts";

export type TunnelPlace = {
  readonly runtime: Runtime;
  /** A worker that runs, with a shell; where a port is given it answers HTTP requests with 404 on loopback alone. */
  startWorker(port?: number): Promise<string>;
  /** How a program of coreutils or busybox is called there. */
  tool(command: string): string;
};

const TERMINAL = { columns: 80, rows: 24 };

class TunnelHost {
  readonly link: ScriptedLink;
  readonly tunnels: Tunnels;
  readonly links: Links;
  rejection: string | null = null;

  constructor(link: ScriptedLink, runtime: Runtime, timing: Partial<Timing>) {
    this.link = link;
    const whole = { ...TIMING, edgeRetryBaseMs: 20, edgeRetryCapMs: 50, ...timing };
    const commands = { started: () => {}, ended: () => {} };
    this.tunnels = new Tunnels({ runtime, commands, timing: whole, rejectionOf: () => this.rejection });
    this.links = new Links({
      edgeUrl: link.url,
      hostToken: LINK_TOKEN,
      admissionControl: {
        openWorkers: () => [],
        admit: () => null,
        connectionFailed() {},
        connectionRefused() {},
      },
      log: SILENT_LOG,
      reachability: new Reachability(SILENT_LOG),
      timing: whole,
      random: Math.random,
      onUnauthorized() {},
    });
    this.links.openHost(this.tunnels);
  }

  static async start(runtime: Runtime, timing: Partial<Timing> = {}): Promise<TunnelHost> {
    const host = new TunnelHost(await ScriptedLink.start(), runtime, timing);
    onTestFinished(() => host.dispose());
    await host.link.until(() => host.link.said.length > 0);
    return host;
  }

  async dispose(): Promise<void> {
    this.tunnels.stop();
    await this.links.stop(100);
    await this.link[Symbol.asyncDispose]();
  }
}

export function describeTunnels(name: string, open: () => Promise<TunnelPlace>): void {
  describe(`a command through a tunnel, ${name}`, () => {
    async function start(timing: Partial<Timing> = {}) {
      const place = await open();
      const workerId = await place.startWorker();
      const host = await TunnelHost.start(place.runtime, timing);
      const shell = (script: string, ...args: readonly string[]) =>
        TunnelClient.run(host.link, workerId, { command: ["sh", "-c", script, "sh", ...args] });
      return { place, workerId, host, shell, link: host.link };
    }

    test("has its outputs apart, its exit code, variables and directory", async ({ expect }) => {
      const { link, workerId, shell } = await start();
      const client = TunnelClient.run(link, workerId, {
        command: ["sh", "-c", 'echo "$FOO $WORKER_MARK in $PWD"; echo bad >&2; exit 7'],
        environment: { FOO: "a b" },
        directory: "/tmp",
      });
      expect(await client.exitCode()).toBe(7);
      expect(client.output("stdout")).toBe("a b marked in /tmp\n");
      expect(client.output("stderr")).toBe("bad\n");
      expect(client.said.map(({ type }) => type)).toEqual(["started", "exit"]);
      expect(client.stream.head?.status).toBe(101);
      expect(await shell("kill -TERM $$").exitCode()).toBe(143);
      expect(link.violations).toEqual([]);
    });

    test("reads its input to the end", async ({ expect }) => {
      const { shell, link } = await start();
      const client = shell("cat; echo done");
      const bytes = randomBytes(3_000_000);
      await client.writeAll(bytes);
      client.say({ type: "end" });
      expect(await client.exitCode()).toBe(0);
      expect(client.bytes.equals(Buffer.concat([bytes, Buffer.from("done\n")]))).toBe(true);
      expect(link.violations).toEqual([]);
    });

    test("that cannot be started is told apart from one that fails", async ({ expect }) => {
      const { link, workerId } = await start();
      const client = TunnelClient.run(link, workerId, { command: ["no-such-program"] });
      await expect(client.exitCode()).rejects.toThrow("no-such-program");
      expect(client.said.map(({ type }) => type)).toEqual(["error"]);
    });

    test("has a terminal of the given size, which can be resized and interrupted", async ({ expect }) => {
      const { link, workerId, place } = await start();
      const size = place.tool("stty size");
      const script = `trap "echo resized; ${size}" WINCH; trap "echo interrupted; exit 5" INT; ${size}; echo "$TERM"; while :; do sleep 0.1; done`;
      const client = TunnelClient.run(link, workerId, {
        command: ["sh", "-c", script],
        terminal: { ...TERMINAL, type: "xterm-test" },
      });
      await client.printed("xterm-test");
      await client.printed("24 80"); // at once, or a little later where Docker is old
      client.say({ type: "resize", columns: 111, rows: 33 });
      await client.printed("33 111");
      client.write("\u0003");
      expect(await client.exitCode()).toBe(5);
      expect(client.output("stdout")).toContain("interrupted");
    });

    test("gets signals", async ({ expect }) => {
      const { shell } = await start();
      const client = shell('trap "echo one; exit 9" USR1; echo ready; while :; do sleep 0.1; done');
      await client.printed("ready");
      client.say({ type: "signal", signal: "SIGUSR1" });
      expect(await client.exitCode()).toBe(9);
      expect(client.output("stdout")).toBe("ready\none\n");
    });

    test("goes on over a new connection without a byte lost, when the link breaks", async ({ expect }) => {
      const { shell, link, host } = await start();
      const client = shell(
        'i=0; while [ $i -lt 100000 ]; do echo "line $i"; i=$((i+1)); done; read answer; echo "got $answer"',
      );
      await client.printed("line 100\n");
      for (let breaks = 0; breaks < 3; breaks += 1) {
        const before = link.asked.length;
        link.drop();
        await link.until(() => link.asked.length > before && link.said.length > breaks + 1);
        client.connect();
      }
      client.write("it\n");
      expect(await client.exitCode()).toBe(0);
      const lines = Array.from({ length: 100_000 }, (_, at) => `line ${at}\n`).join("");
      expect(client.output("stdout")).toBe(`${lines}got it\n`);
      expect(host.tunnels.count).toBe(1);
      client.stream.close({ code: 1000, reason: "" });
      await link.until(() => host.tunnels.count === 0);
      expect(link.violations).toEqual([]);
    });

    test("waits while its output is not read", async ({ expect }) => {
      const { shell, link } = await start();
      const client = shell('while :; do echo "$0 and more of the same"; done');
      client.isReading = false;
      await client.heard("started");
      await link.until(() => client.byteCount > 3_500_000);
      client.say({ type: "signal", signal: "SIGKILL" });
      client.read();
      expect(await client.exitCode()).toBe(137);
      expect(link.violations).toEqual([]);
    });

    test.for([
      {
        what: "its client leaves",
        end: (client: TunnelClient) => client.stream.close({ code: 1000, reason: "" }),
      },
      { what: "its client does not come back", end: (client: TunnelClient) => client.stream.abort() },
      { what: "its client breaks the rules", end: (client: TunnelClient) => client.stream.message("{}") },
    ])("is killed with its children when $what", async ({ end }) => {
      const { shell, host, link } = await start({ tunnelResumeMs: 100 });
      const mark = `${100_000 + Math.floor(Math.random() * 800_000)}.${process.pid}`;
      const client = shell(`trap "" HUP TERM; sleep ${mark} & sleep ${mark} & echo ready; wait`);
      await client.printed("ready");
      // It says so before its children are more than copies of it.
      await until(async () => await isRunning(`sleep ${mark}`), "its children run");
      end(client);
      await until(async () => !(await isRunning(`sleep ${mark}`)), "nothing is left of the command");
      await link.until(() => host.tunnels.count === 0);
    });

    test("ends when it is idle, and with its container", async ({ expect }) => {
      const { link, workerId, host } = await start();
      const idle = new TunnelClient(link, workerId, undefined, 1_000);
      idle.say({ type: "start", command: ["sleep", "1000"] });
      await idle.stream.over();
      expect(idle.stream.closed?.code).toBe(4001);
      const client = TunnelClient.run(link, workerId, { command: ["sleep", "1000"] });
      await client.heard("started");
      void host.tunnels.workerEnded(workerId, "The container has ended.");
      expect((await client.heard("error")).message).toBe("The container has ended.");
    });

    test("is gone before its container is frozen, also when its client has just left", async ({ expect }) => {
      const { shell, host, workerId } = await start({ tunnelResumeMs: 100 });
      const isLeft = async (end: (client: TunnelClient) => unknown) => {
        const mark = `${100_000 + Math.floor(Math.random() * 800_000)}.${process.pid}`;
        const client = shell(`trap "" HUP TERM; sleep ${mark} & echo ready; wait`);
        await client.printed("ready");
        await until(() => isRunning(`sleep ${mark}`), "its child runs");
        await end(client);
        await host.tunnels.workerEnded(workerId, "The worker was put on standby.");
        return await isRunning(`sleep ${mark}`);
      };
      expect(await isLeft(() => {})).toBe(false);
      const leave = async (client: TunnelClient) => {
        client.stream.abort();
        await until(() => host.tunnels.count === 0, "its tunnel is over");
      };
      expect(await isLeft(leave)).toBe(false);
    });

    test("is over when its client sends a message that is too large", async ({ expect }) => {
      const { shell, link, host } = await start();
      const client = shell("cat");
      await client.heard("started");
      for (const flags of [0, FLAG_FIN]) client.stream.sendNow(FRAME.BINARY, Buffer.alloc(35_000), flags);
      await link.until(() => client.stream.closed);
      expect(client.stream.closed?.code).toBe(1009);
      await link.until(() => host.tunnels.count === 0);
    });

    test("says that its container has ended, and not that it was killed", async ({ expect }) => {
      const { place, workerId, shell } = await start();
      const client = shell("echo ready; sleep 1000");
      await client.printed("ready");
      await place.runtime.stop(workerId, 0);
      expect((await client.heard("error")).loss).toBe("container_ended");
    });

    test("is asked to resume after a while, and goes on", async ({ expect }) => {
      const { shell, link } = await start({ tunnelRenewalMs: 50 });
      const client = shell('read answer; echo "got $answer"');
      await link.until(() => client.stream.closed);
      expect(client.stream.closed?.code).toBe(4000);
      client.connect();
      client.write("it\n");
      // Its answer may come on any later one.
      const isOver = (): boolean => client.said.some(({ type }) => type === "exit" || type === "error");
      await link.until(() => {
        if (client.stream.closed && !isOver()) client.connect();
        return isOver();
      });
      expect(await client.exitCode()).toBe(0);
      expect(client.output("stdout")).toBe("got it\n");
    });

    test("is refused where the worker does not run, and a resumption of what is not there", async ({
      expect,
    }) => {
      const { link, workerId, host } = await start();
      const resumed = new TunnelClient(link, workerId);
      await resumed.stream.answered();
      const id = randomUUID().replaceAll("-", "");
      const head = { kind: "exec", tunnelId: id, isResumed: true, idleMs: 60_000 };
      expect((await link.open({ workerId }, head).over()).reset?.reason).toBe("tunnel_gone");
      const other = link.open({ workerId, port: 22 }, { ...head, isResumed: false });
      expect((await other.over()).reset?.reason).toBe("protocol");
      host.rejection = "The worker is on standby.";
      const refused = link.open({ workerId }, { ...head, isResumed: false });
      expect((await refused.over()).reset).toEqual({ reason: "worker_gone", detail: host.rejection });
      expect(link.asked).toHaveLength(1);
    });

    test("is one of a bounded number", async ({ expect }) => {
      const { link, workerId, host } = await start();
      const clients = Array.from({ length: 100 }, () => new TunnelClient(link, workerId));
      await Promise.all(clients.map(({ stream }) => stream.answered()));
      expect((await new TunnelClient(link, workerId).stream.over()).reset?.reason).toBe("worker_failed");
      expect(host.tunnels.count).toBe(100);
    });
  });

  describe(`a port through a tunnel, ${name}`, () => {
    async function start() {
      const place = await open();
      const workerId = await place.startWorker(18_089);
      const host = await TunnelHost.start(place.runtime);
      return { workerId, link: host.link, host, place };
    }

    test("is reached on the loopback of the container, to the end in both directions", async ({ expect }) => {
      const { workerId, link, host } = await start();
      const client = new TunnelClient(link, workerId, 18_089);
      await client.stream.answered();
      client.write("GET /none HTTP/1.0\r\n\r\n");
      client.say({ type: "end" });
      await client.heard("end");
      expect(client.bytes.toString()).toMatch(/^HTTP\/1.[01] 404/);
      const again = new TunnelClient(link, workerId, 18_089);
      await again.stream.answered();
      again.stream.close({ code: 1000, reason: "" });
      client.stream.close({ code: 1000, reason: "" });
      await link.until(() => host.tunnels.count === 0);
      expect(link.violations).toEqual([]);
    });

    test("is not one of the host, or of another container", async ({ expect }) => {
      const { workerId, link, place } = await start();
      const server = await listen();
      const { port } = server.address() as AddressInfo;
      onTestFinished(() => void server.close());
      const other = await place.startWorker(18_090);
      for (const target of [port, 18_090, 9]) {
        const { reset } = await new TunnelClient(link, workerId, target).stream.over();
        expect(reset?.reason).toBe("worker_failed");
      }
      await new TunnelClient(link, other, 18_090).stream.answered();
    });
  });
}

/** Whether a process of this machine has a command line that begins with the text; those of containers are seen, too. */
export async function isRunning(text: string): Promise<boolean> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.some((line) => line.split("\0").join(" ").startsWith(text));
}

async function listen(): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  return server;
}
