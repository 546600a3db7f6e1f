/** The served script installs, updates and removes a host under systemd. */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import type { AgentStatus } from "../../node-agent/host/status-server.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { Gate } from "../support/gate.ts";
import type { EdgeAccess } from "../support/lone-edge.ts";
import { createEndpoint } from "../support/management-client.ts";
import { QueueClient } from "../support/queue-client.ts";
import { newAccount } from "../support/shared-edge.ts";
import { MACHINE_NODE, MACHINE_WORKER, SystemdMachine } from "../support/systemd-machine.ts";
import { until } from "../support/until.ts";

const STATE = "/var/lib/edgerun-agent";
/** Starts, and never says a word to an edge. */
const MUTE_AGENT = `if (process.argv.includes("--version")) console.log("9.9.9"); else setInterval(() => {}, 1000);\n`;

/** From then on programs by their names in /opt/spy write down their arguments before they start. */
const SPY_ON_ARGUMENTS = `mkdir /opt/spy && for name in sh curl env sed cat mv chmod mkdir mktemp sha256sum systemctl; do
  printf '#!/bin/sh\\necho "%s $*" >>/opt/spy/log; exec /usr/bin/%s "$@"\\n' $name $name >/opt/spy/$name
  chmod 755 /opt/spy/$name
done`;

type Host = { readonly id: string; readonly name: string; readonly isPresent: boolean };

describe.runIf(await isDockerAvailable())("a machine with systemd", () => {
  let edge: EdgeAccess;
  let machine: SystemdMachine;
  let client: QueueClient;

  beforeAll(async () => {
    [edge, machine] = await Promise.all([newAccount("install"), SystemdMachine.start()]);
    const settings = { name: "installed", dockerArgs: MACHINE_WORKER, workersMax: 1 };
    const endpointId = await createEndpoint(edge, settings);
    client = new QueueClient({ ...edge, endpointId });
  });
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  const api = () => managementApi(edge.baseUrl, edge.apiKey);
  const joinToken = async (): Promise<{ token: string; installCommand: string }> =>
    (
      await api().query<{ joinTokenCreate: { token: string; installCommand: string } }>(
        "mutation { joinTokenCreate { token installCommand } }",
      )
    ).joinTokenCreate;
  const hosts = async (): Promise<readonly Host[]> =>
    (await api().query<{ myself: { hosts: Host[] } }>("{ myself { hosts { id name isPresent } } }")).myself
      .hosts;
  const status = async (): Promise<AgentStatus> =>
    JSON.parse((await machine.run("edgerun-agent status --wait 20 --json")).output) as AgentStatus;
  const script = (): string => `curl -fsSL ${edge.baseUrl}/agent/install.sh`;
  const flags = `--runtime process --node ${MACHINE_NODE} --name rack-1 --data-center EU-RO-1`;

  test("refuses what cannot work, in message, and leaves nothing behind", async ({ expect }) => {
    const cases = [
      [`sh -s -- ${flags}`, /needs a join token/],
      ["sh -s -- --token erj_x", /Docker is missing/],
      ["sh -s -- --token 'a b'", /is no join token/],
      ["sh -s -- --token erj_x --runtime process --node /bin/true", /is no Node of version 22\.16/],
      ["sh -s -- --tokens x", /no option --tokens/],
      [`sh -s -- --token erj_x ${flags} --name 'a"b'`, /may not hold quotes/],
      [`sh -s -- --token erj_x ${flags} --state /etc`, /a directory of the agent's own/],
      [`sh -s -- ${flags} --edge http://edge.example`, /not safe: without https/],
      [`sh -s -- ${flags} --edge http://127.0.0.1.edge.example`, /not safe: without https/],
    ] as const;
    for (const [line, message] of cases) {
      const { code, output } = await machine.run(`${script()} | ${line}`);
      expect(output).toMatch(message);
      expect(code).not.toBe(0);
    }
    const half = await machine.run(
      `${script()} > /tmp/i; head -c $(($(wc -c < /tmp/i) - 9)) /tmp/i | sh -s -- --token x`,
    );
    expect(half.output).not.toMatch(/error:|Installed/);
    expect((await machine.run("ls /opt/edgerun /etc/edgerun")).code).not.toBe(0);
  });

  test("joins with the one line, under dash, and runs a job", async ({ expect }) => {
    const { token, installCommand } = await joinToken();
    // Root as it is, the machine has no sudo. The line is typed, so that it is no argument of the test's own.
    const line = `${installCommand.replace("sudo ", "")} ${flags}`;
    await machine.run(SPY_ON_ARGUMENTS);
    const { code, output } = await machine.run("PATH=/opt/spy:$PATH sh", { input: line });
    expect(output).toContain("edgerun-agent doctor");
    expect(code).toBe(0);
    expect(await hosts()).toMatchObject([{ name: "rack-1", isPresent: true }]);
    expect(await client.runsync({ mock_return: 42 })).toMatchObject({ status: "COMPLETED", output: 42 });

    const { output: started } = await machine.run("cat /opt/spy/log");
    expect(started).toMatch(/curl .*agent\/install\.sh/);
    expect(started).not.toContain(token);
    // The token is nowhere any more, and what is secret is its owner's alone.
    const traces = await machine.run(
      `grep -rlf - /etc /opt/edgerun /usr/local/bin ${STATE} /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null`,
      { input: token },
    );
    expect(traces.output).toBe("");
    const journal = await machine.run("journalctl --no-pager");
    expect(journal.output).toContain("edgerun-agent");
    expect(journal.output).not.toContain(token);
    const modes = await machine.run(
      `stat -c %a /etc/edgerun/agent.env ${STATE} ${STATE}/host.json ${STATE}/agent.sock`,
    );
    expect(modes.output.split(/\s+/)).toEqual(["600", "700", "600", "600"]);
    expect((await machine.run("systemd-analyze verify edgerun-agent.service")).output).toBe("");
  });

  test("gets passed checks and suggestions from the doctor", async ({ expect }) => {
    const { code, output } = await machine.run("edgerun-agent doctor");
    expect(output).toMatch(/ok {4}host +Joined as rack-1/);
    expect(output).toMatch(/ok {4}gpu 0 +NVIDIA GeForce RTX 4090, ADA_24, 24 GB/);
    expect(output).toMatch(/ok {4}driver +NVIDIA driver 550\.54\.15/);
    expect(output).toMatch(/ok {4}agent +Agent .* runs 1 worker$/m);
    expect(output).toMatch(/warn {2}docker +Workers run as plain processes/);
    expect(code).toBe(0);
    await machine.run("systemctl stop edgerun-agent");
    const stopped = await machine.run("edgerun-agent doctor --edge http://127.0.0.1:9 --json");
    expect(stopped.code).toBe(1);
    expect(JSON.parse(stopped.output)).toMatchObject({
      findings: expect.arrayContaining([
        expect.objectContaining({ check: "edge", level: "fail" }),
        expect.objectContaining({ check: "agent", level: "warn", text: "No agent runs on this host" }),
      ]),
    });
    expect((await machine.run("edgerun-agent status")).code).not.toBe(0);
  });

  test("is repaired by the same line without a token, under bash", async ({ expect }) => {
    await machine.run("rm /usr/local/bin/edgerun-agent");
    const { code, output } = await machine.run(`${script()} | bash`, { shell: "bash" });
    expect(output).toContain("edgerun-agent doctor");
    expect(code).toBe(0);
    expect(await hosts()).toHaveLength(1);
    expect(await status()).toMatchObject({ name: "rack-1", runtime: "process" });
  });

  test("is upgraded while a job runs, and the job does not notice", async ({ expect }) => {
    const gate = new Gate(machine.sharedDirectory);
    const { id } = await client.run({ mock_until: gate.file, mock_return: "kept" });
    await client.untilRunning(id);
    // A worker that was replaced while the agent was away may still be on its way out.
    await expect.poll(async () => (await status()).workers.length, { timeout: 60_000 }).toBe(1);
    const before = await status();
    await machine.run("echo '// an older agent' >> /opt/edgerun/edgerun-agent.mjs");
    const upgraded = await machine.run("edgerun-agent upgrade");
    expect(upgraded.output).toMatch(/\bedgerun-agent \d+\.\d.*\n.*\b1\b/);
    const after = await status();
    expect(after.pid).not.toBe(before.pid);
    expect(after.workers.map(({ workerId }) => workerId)).toEqual(
      before.workers.map(({ workerId }) => workerId),
    );
    gate.open();
    expect(await client.result(id)).toMatchObject({ status: "COMPLETED", output: "kept" });
    expect((await client.status(id)).retries ?? 0).toBe(0);
    expect((await machine.run("edgerun-agent upgrade")).output).toMatch(/the agent of the edge already/);
  });

  test("returns to the previous agent when the new one does not connect", async ({ expect }) => {
    await using wrong = await serveAgent(MUTE_AGENT);
    const upgrade = await machine.run(`edgerun-agent upgrade --edge ${wrong.url} --wait 15`);
    expect(upgrade.output).toMatch(/\bedgerun-agent 9\.9\.9\b/);
    expect(upgrade.code).toBe(1);
    await using broken = await serveAgent("syntax error");
    const refused = await machine.run(`edgerun-agent upgrade --edge ${broken.url}`);
    expect(refused.output).toContain("does not start");
    await using cut = await serveAgent(MUTE_AGENT, "0".repeat(64));
    expect((await machine.run(`edgerun-agent upgrade --edge ${cut.url}`)).output).toContain("SHA-256");
    expect(await client.runsync({ mock_return: 1 })).toMatchObject({ status: "COMPLETED" });
  });

  test("that its owner removes ends its workers, logs it, and is not started again", async ({ expect }) => {
    const [host] = await hosts();
    await api().query(`mutation { hostRemove(input: { id: "${host?.id}" }) }`);
    const until = "until ! systemctl is-active --quiet edgerun-agent; do sleep 0.2; done";
    await machine.run(until);
    const journal = await machine.run("journalctl -u edgerun-agent --no-pager -o cat -n 40");
    expect(journal.output).toContain("does not accept this host's token any more");
    expect((await machine.run("pgrep -f '[w]orker-script'")).output).toBe("");
    expect((await machine.run("systemctl show -p Result -p ExecMainStatus edgerun-agent")).output).toMatch(
      /ExecMainStatus=78/,
    );
    const { token } = await joinToken();
    expect((await machine.run(`${script()} | sh -s -- --token ${token}`)).code).toBe(0);
    expect(await hosts()).toMatchObject([{ name: "rack-1", isPresent: true }]);
  });

  test("is uninstalled after its job, and nothing is left", async ({ expect }) => {
    const gate = new Gate(machine.sharedDirectory);
    const { id } = await client.run({ mock_until: gate.file, mock_return: "last" });
    await client.untilRunning(id);
    await until(async () => (await status()).jobs, "a job on the host", 60_000);
    const uninstalling = machine.run(`${script()} | sh -s -- --uninstall`);
    await Promise.race([hostIsDrained(), uninstalling]);
    gate.open();
    expect(await client.result(id)).toMatchObject({ status: "COMPLETED", output: "last" });
    const { code, output } = await uninstalling;
    expect(output).toMatch(/Waiting for 1 jobs and 1 workers[^]*Nothing of Edgerun is left/);
    expect(code).toBe(0);
    expect(await hosts()).toEqual([]);
    const left = await machine.run(
      `ls -d /opt/edgerun /etc/edgerun ${STATE} /usr/local/bin/edgerun-agent /etc/systemd/system/*edgerun* /etc/systemd/system/*/*edgerun* 2>/dev/null; systemctl list-units --all --plain --no-legend '*edgerun-agent*'; pgrep -af '[e]dgerun-agent.mjs|[w]orker-script.mjs'`,
    );
    expect(left.output).toBe("");
    const again = await machine.run(`${script()} | sh -s -- --uninstall`);
    expect(again).toMatchObject({ code: 0, output: "There is no agent on this machine." });
  });

  test("can be installed without a service, under bash", async ({ expect }) => {
    const shell = "bash";
    const { token } = await joinToken();
    const line = `${script()} | ${shell} -s -- --token ${token} --no-systemd ${flags}`;
    const { code, output } = await machine.run(line, { shell });
    expect(output).toContain("edgerun-agent run");
    expect(code).toBe(0);
    expect((await machine.run("ls /etc/systemd/system/edgerun-agent.service")).code).not.toBe(0);
    await machine.run("setsid edgerun-agent run >/tmp/agent.log 2>&1 &");
    expect(await status()).toMatchObject({ name: "rack-1" });
    const refused = await machine.run("edgerun-agent uninstall --now");
    expect(refused.output).toContain("The agent still runs");
    await machine.run(
      "kill $(edgerun-agent status --json | sed -n 's/.*\"pid\": \\([0-9]*\\).*/\\1/p'); until ! edgerun-agent status >/dev/null 2>&1; do sleep 0.1; done",
    );
    expect((await machine.run("edgerun-agent uninstall --now")).output).toContain(
      "Nothing of Edgerun is left",
    );
  });

  async function hostIsDrained(): Promise<void> {
    await until(
      async () => {
        const { myself } = await api().query<{ myself: { hosts: { drained: boolean }[] } }>(
          "{ myself { hosts { drained } } }",
        );
        return myself.hosts.length === 0 || myself.hosts.some(({ drained }) => drained);
      },
      "a drained host",
      60_000,
    );
  }
});

/** An edge that has nothing but an agent. */
async function serveAgent(
  agent: string,
  hash = createHash("sha256").update(agent).digest("hex"),
): Promise<AsyncDisposable & { readonly url: string }> {
  const server: Server = createServer((request, response) => {
    response.end(request.url?.endsWith(".sha256") ? `${hash}\n` : agent);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
