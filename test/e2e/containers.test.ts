/** `edgerun shell`, `exec`, `cp`, `port-forward`, `tunnel` and `ssh-config`, from the command of a user to the container. */
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, inject, test } from "vitest";
import { ensureHelloImage } from "../../scripts/images/node-image.ts";
import type { RuntimeKind } from "../../standalone/agent.ts";
import { managementApi } from "../../standalone/management-api.ts";
import { CommandFixture, type Run } from "../cli/support/flash-command.ts";
import { RunningCommand } from "../cli/support/running-command.ts";
import { CONTROL_C, ENTER, talk } from "../cli/support/terminal-dialog.ts";
import { type AccountHost, startAccountHost } from "../support/account-host.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { freePort } from "../support/free-port.ts";
import { createEndpoint } from "../support/management-client.ts";
import { newAccount } from "../support/shared-edge.ts";
import { inTurn } from "../support/turn.ts";
import { until } from "../support/until.ts";

const HELLO_WORKER = resolve(import.meta.dirname, "../../examples/hello/worker.mjs");
const START_LIMIT_MS = 120_000;
const INPUT_BYTES = 5_000_000;

/** A pod with a shell and its tools, which answers "served" on a port of its loopback, and a worker with Node. */
type Place = {
  readonly runtime: RuntimeKind;
  pod(port: number): { readonly imageName: string; readonly dockerStartCmd: readonly string[] };
  worker(): Promise<{ readonly imageName: string; readonly dockerArgs: string }>;
};

const processes: Place = {
  runtime: "process",
  pod(port) {
    const server = `require("node:http").createServer((_, r) => r.end("served")).listen(${port}, "127.0.0.1")`;
    return { imageName: "none", dockerStartCmd: [process.execPath, "-e", server] };
  },
  worker: async () => ({ imageName: "none", dockerArgs: `"${process.execPath}" "${HELLO_WORKER}"` }),
};

const docker: Place = {
  runtime: "docker",
  pod(port) {
    const server = `busybox --install -s /bin; mkdir /www; echo -n served > /www/index.html; exec httpd -f -p 127.0.0.1:${port} -h /www`;
    return { imageName: TEST_IMAGE, dockerStartCmd: ["sh", "-c", server] };
  },
  async worker() {
    await inTurn("images", () => ensureTestImage());
    return { imageName: (await inTurn("images", () => ensureHelloImage())).image, dockerArgs: "" };
  },
};

const places = (await isDockerAvailable()) ? [processes, docker] : [processes];

describe.each(places)("a user's way into a $runtime", (place) => {
  let account: AccountHost;
  let fixture: CommandFixture;
  let podId = "";
  let workerId = "";
  let port = 0;
  /** That of the commands. */
  let keyId = "";

  const graphql = <Data>(document: string) =>
    managementApi(account.baseUrl, account.apiKey).query<Data>(document, {});
  const rest = async <Answer>(method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${account.baseUrl}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${account.apiKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Answer;
  };

  async function createKey(input: string): Promise<{ token: string; id: string }> {
    const { createApiKey } = await graphql<{ createApiKey: { token: string; apiKey: { id: string } } }>(
      `mutation { createApiKey(input: { name: "key", ${input} }) { token apiKey { id } } }`,
    );
    return { token: createApiKey.token, id: createApiKey.apiKey.id };
  }

  /** `edgerun` with these arguments, as a line for bash. */
  const edgerun = (line: string): Promise<Run> => fixture.run(`edgerun ${line}`);

  const runningCommand = (args: readonly string[]): RunningCommand =>
    new RunningCommand(join(fixture.commands, "edgerun"), args, {
      cwd: fixture.project,
      env: fixture.environment,
    });

  async function createPod(listenPort = port): Promise<string> {
    const fields = { name: "box", computeType: "CPU", vcpuCount: 1, ports: [], ...place.pod(listenPort) };
    const joined = () => rest<{ id: string }>("POST", "/pods", fields);
    return (await until(joined, "the host has joined", START_LIMIT_MS)).id;
  }

  async function createWorker(): Promise<string> {
    const settings = { name: "hello", workersMin: 1, workersMax: 1, ...(await place.worker()) };
    const endpointId = await createEndpoint(account, settings);
    const find = async () => {
      const path = `/endpoints/${endpointId}?includeWorkers=true`;
      return (await rest<{ workers: { id: string }[] }>("GET", path)).workers[0]?.id;
    };
    return await until(find, "the endpoint has a worker", START_LIMIT_MS);
  }

  beforeAll(async () => {
    account = await startAccountHost(`containers ${place.runtime}`, place.runtime);
    const key = await createKey("permissions: { shell: true }");
    keyId = key.id;
    fixture = await CommandFixture.open(inject("flashBundle"), {
      EDGERUN_URL: account.baseUrl,
      SVC_API_KEY: key.token,
    });
    port = await freePort();
    workerId = await createWorker();
    podId = await createPod();
    const ran = async (id: string, command: string) =>
      (await edgerun(`exec -n ${id} -- ${command}`)).exitCode === 0;
    await until(() => ran(workerId, "node --version"), "the worker runs", START_LIMIT_MS);
    await until(() => ran(podId, "stty --version || :"), "the pod runs", START_LIMIT_MS);
  }, 2 * START_LIMIT_MS);
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
    await account?.stop();
  });

  describe("exec", () => {
    test("has output, errors and exit code of a command in a worker", async ({ expect }) => {
      const program = `console.log(process.env.NAME); console.error("bad"); process.exitCode = 5`;
      expect(await edgerun(`exec --env "NAME=a b" ${workerId} -- node -e '${program}'`)).toEqual({
        stdout: "a b",
        stderr: "bad",
        exitCode: 5,
      });
    });

    test("has them of one in a pod, with its variables and directory", async ({ expect }) => {
      const line = `exec --env A=1 --env "B=2 3" --directory /tmp ${podId} -- sh -c 'echo "$A $B $PWD"; echo bad >&2; exit 7'`;
      expect(await edgerun(line)).toEqual({ stdout: "1 2 3 /tmp", stderr: "bad", exitCode: 7 });
    });

    test("brings bytes there and back as they are", async ({ expect }) => {
      await fixture.write("bytes", randomBytes(INPUT_BYTES));
      const line = `exec ${podId} -- sh -c 'cat; echo end >&2' < bytes > echo && cmp bytes echo && stat -c %s echo`;
      expect(await edgerun(line)).toEqual({ stdout: String(INPUT_BYTES), stderr: "end", exitCode: 0 });
    });

    test.for([
      ["a signal ends it", "sh -c 'kill -TERM $$'", 143],
      ["SIGKILL ends it", "sh -c 'kill -KILL $$'", 137],
    ] as const)(
      "has 128 and the number of the signal where %s",
      async ([, command, exitCode], { expect }) => {
        expect(await edgerun(`exec -n ${podId} -- ${command}`)).toEqual({ stdout: "", stderr: "", exitCode });
      },
    );

    test("says that there is no such program", async ({ expect }) => {
      const { stderr, exitCode } = await edgerun(`exec -n ${podId} -- no-such-program`);
      expect([stderr, exitCode]).toEqual([expect.stringContaining("no-such-program"), 126]);
    });

    test("keeps errors apart from a long output that is read slowly", async ({ expect }) => {
      const script = `for (let n = 0; n < 300; n += 1) { process.stdout.write(Buffer.alloc(100_000)); process.stderr.write("x"); }`;
      const slow = `node -e 'let n = 0; const read = async () => { for await (const c of process.stdin) { n += c.length; await new Promise((r) => setTimeout(r, 2)); } console.log(n); }; read()'`;
      const { stdout, exitCode } = await fixture.run(
        `set -o pipefail; edgerun exec -n ${workerId} -- node -e '${script}' 2> errors | ${slow} && wc -c < errors`,
      );
      expect([exitCode, stdout.split("\n")]).toEqual([0, ["30000000", "300"]]);
    });

    /** A command that says "ready", and does this when a signal comes. */
    async function trapping(signal: string, action: string): Promise<RunningCommand> {
      const script = `trap '${action}; exit 7' ${signal.slice("SIG".length)}; echo ready; while :; do sleep 0.1; done 2> /dev/null`;
      const running = runningCommand(["exec", "-n", podId, "--", "sh", "-c", script]);
      await running.printed(/ready/);
      return running;
    }

    test("passes SIGINT on, and waits for what the command makes of it", async ({ expect }) => {
      await using running = await trapping("SIGINT", "echo got");
      expect(await running.end("SIGINT")).toBe(7);
      expect(running.output).toBe("ready\ngot\n");
    });

    test.for(["SIGTERM", "SIGHUP"] as const)("passes %s on", async (signal, { expect }) => {
      await using running = await trapping(signal, `: > got-${signal}`);
      // 130 where the command takes longer than the one who sent the signal should wait.
      expect([7, 130]).toContain(await running.end(signal));
      const got = async () => (await edgerun(`exec -n ${podId} -- ls got-${signal}`)).exitCode === 0;
      await until(got, "the command got the signal");
    });

    test("passes Ctrl+C in a terminal on, and has what the command makes of it", async ({ expect }) => {
      const script = `trap "echo got; exit 7" INT; echo ready; while :; do sleep 0.1; done`;
      const line = `bash -c 'edgerun exec ${podId} -- sh -c "$0"; echo "code $?"' '${script}'`;
      const { screen } = await talk(fixture, line, [{ see: "ready", type: CONTROL_C }]);
      expect(screen.replace("^C", "")).toBe("ready\ngot\ncode 7\n");
    });
  });

  describe("a shell", () => {
    test("has the size of the window, follows it, and gives the terminal back", async ({ expect }) => {
      const line = `bash -c 'stty -a > before; edgerun shell ${podId}; echo "code $?"; stty -a > after'`;
      const { screen, exitCode } = await talk(fixture, line, [
        { see: "", type: `echo "size $(stty size)"${ENTER}` },
        { see: "size 40 120", resize: [33, 111] },
        {
          see: "",
          type: `until [ "$(stty size)" = "33 111" ]; do sleep 0.1; done; echo "fol""lows"${ENTER}`,
        },
        { see: "follows", type: `exit 3${ENTER}` },
      ]);
      expect([screen.trimEnd().split("\n").at(-1), exitCode]).toEqual(["code 3", 0]);
      const { stdout } = await fixture.run("diff before after");
      expect(stdout.replaceAll(/^[<>-].*(rows|columns).*$|^---$|^\d+c\d+$/gm, "").trim()).toBe("");
    });

    test("goes on after Ctrl+C has ended a program in it", async ({ expect }) => {
      const { screen, exitCode } = await talk(fixture, `edgerun shell ${podId}`, [
        { see: "", type: `sh -c 'echo "u""p"; exec sleep 1000'${ENTER}` },
        { see: "up", type: CONTROL_C },
        { see: "^C", type: `echo "ended"" with $?"${ENTER}` },
        { see: "ended with 130", type: `exit 0${ENTER}` },
      ]);
      expect(screen).toContain("ended with 130");
      expect(exitCode).toBe(0);
    });

    test("ends by Enter ~ . while a program in it hangs", async ({ expect }) => {
      const line = `bash -c 'edgerun shell ${podId}; echo "code $?"; stty -a | grep -ow icanon'`;
      const { screen } = await talk(fixture, line, [
        { see: "", type: `echo "u""p"; sleep 1000${ENTER}` },
        { see: "up", type: `${ENTER}~.` },
      ]);
      expect(screen).toMatch(/code 1\nicanon\n$/);
    });
  });

  describe("a port", () => {
    test("is forwarded, and one on which nothing listens closes its connections alone", async ({
      expect,
    }) => {
      const closed = await freePort();
      const args = ["port-forward", podId, `0:${port}`, `0:${closed}`];
      await using running = runningCommand(args);
      const local = async (remote: number) => {
        const [, found] = await running.printed(new RegExp(`127\\.0\\.0\\.1:(\\d+) to port ${remote} `));
        return `http://127.0.0.1:${found}/`;
      };
      await expect(fetch(await local(closed))).rejects.toThrow();
      await running.printed(new RegExp(`Port ${closed}: `));
      const answers = await Promise.all([1, 2, 3].map(async () => (await fetch(await local(port))).text()));
      expect(answers).toEqual(["served", "served", "served"]);
      expect(await running.end("SIGINT")).toBe(130);
    });

    test("of what does not exist is not forwarded", async ({ expect }) => {
      const { stderr, exitCode } = await edgerun("port-forward absent00000000 0:80");
      expect([stderr, exitCode]).toEqual([expect.stringContaining("absent00000000"), 1]);
      expect(stderr).not.toContain("127.0.0.1");
    });

    test("is at the end of a pipe, as ssh-config asks for", async ({ expect }) => {
      const { stdout: config } = await edgerun(`ssh-config ${podId}`);
      const host = /^Host (\S+)$/m.exec(config)?.[1];
      const [, program] = /^ *ProxyCommand edgerun (.*) %h 22$/m.exec(config) ?? [];
      const { stdout, exitCode } = await fixture.run(
        `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | edgerun ${program} ${host} ${port}`,
      );
      expect(stdout).toMatch(/^HTTP\/1\.[01] 200 OK\r?\n[^]*\nserved$/);
      expect(exitCode).toBe(0);
    });

    test("on which nothing listens is refused", async ({ expect }) => {
      const closed = await freePort();
      const { stderr, exitCode } = await edgerun(`tunnel ${podId} ${closed} < /dev/null`);
      expect([stderr, exitCode]).toEqual([expect.stringContaining("✗"), 1]);
    });
  });

  describe("cp", () => {
    test("brings a file there and back", async ({ expect }) => {
      await fixture.write("model.bin", randomBytes(3_000_000));
      const { stderr, exitCode } = await fixture.run(
        `chmod 750 model.bin && edgerun cp model.bin ${podId}:there.bin && edgerun cp ${podId}:there.bin back.bin`,
      );
      expect(exitCode, stderr).toBe(0);
      const there = await edgerun(
        `exec -n ${podId} -- sh -c 'sha256sum < there.bin; stat -c "%a %Y" there.bin'`,
      );
      const here = await fixture.run(`sha256sum < model.bin; stat -c "%a %Y" model.bin`);
      const back = await fixture.run(`sha256sum < back.bin; stat -c "%a %Y" back.bin`);
      expect([there.stdout, back.stdout]).toEqual([here.stdout, here.stdout]);
    });

    test("brings a directory there and back", async ({ expect }) => {
      await fixture.write("tree/a b/c.txt", "c\n");
      await fixture.write("tree/empty", "");
      await fixture.write("tree/a b/bytes", randomBytes(300_000));
      const { stderr, exitCode } = await fixture.run(
        `ln -s 'a b/c.txt' tree/link && chmod 700 tree/empty && edgerun cp tree ${podId}:planted && edgerun cp ${podId}:planted fetched`,
      );
      expect(exitCode, stderr).toBe(0);
      const listed = (name: string) => fixture.run(`cd ${name} && find . -printf '%P %y %m %l\\n' | sort`);
      expect((await listed("fetched")).stdout).toBe((await listed("tree")).stdout);
      expect((await fixture.run("diff -r tree fetched")).exitCode).toBe(0);
    });

    test("replaces nothing but files, and follows a link to one", async ({ expect }) => {
      await fixture.write("kept.txt", "old\n");
      const made = `mkfifo pipe && ln -s kept.txt link && edgerun exec -n ${podId} -- sh -c 'echo new > new.txt'`;
      expect((await fixture.run(made)).exitCode).toBe(0);
      expect((await edgerun(`cp ${podId}:new.txt pipe`)).exitCode).toBe(1);
      expect((await edgerun(`cp kept.txt ${podId}:/dev/null`)).exitCode).toBe(1);
      expect((await edgerun(`cp ${podId}:new.txt link`)).exitCode).toBe(0);
      const { stdout } = await fixture.run("cat kept.txt; stat -c %F pipe link");
      expect(stdout.split("\n")).toEqual(["new", "fifo", "symbolic link"]);
    });

    test("removes parts of uploads that were given up a day ago", async ({ expect }) => {
      const parts = ["old", "young"].map((name) => `.edgerun-${name}.part`);
      const made = `mkdir parts; cd parts; touch ${parts.join(" ")}; touch -d @86400 ${parts[0]}`;
      expect((await edgerun(`exec -n ${podId} -- sh -c '${made}'`)).exitCode).toBe(0);
      await fixture.write("new.txt", "new\n");
      expect((await edgerun(`cp new.txt ${podId}:parts/`)).exitCode).toBe(0);
      expect((await edgerun(`exec -n ${podId} -- ls -A parts`)).stdout).toBe(`${parts[1]}\nnew.txt`);
    });

    test("says which file is not there", async ({ expect }) => {
      const { stderr, exitCode } = await edgerun(`cp ${podId}:absent.bin .`);
      expect([stderr, exitCode]).toEqual([expect.stringContaining("absent.bin"), 1]);
    });
  });

  test("ends with the pod, and says so", async ({ expect }) => {
    const endedId = await createPod(await freePort());
    const isUp = async () => (await edgerun(`exec -n ${endedId} -- true`)).exitCode === 0;
    await until(isUp, "the pod runs", START_LIMIT_MS);
    await using command = runningCommand(["exec", "-n", endedId, "--", "sh", "-c", "echo in; sleep 1000"]);
    await command.printed(/in/);
    await rest("POST", `/pods/${endedId}/stop`);
    expect(await command.over()).toBe(1);
    expect(command.output).toContain("✗ The pod was stopped");
    await graphql(`mutation { podTerminate(input: { podId: "${endedId}" }) }`);
  });

  describe("who may", () => {
    /** How each way into the pod ends with another key. */
    async function outcomes(key: string, id = podId): Promise<Run[]> {
      const lines = [
        `exec -n ${id} -- echo in`,
        `tunnel ${id} ${port} < /dev/null`,
        `cp ${id}:/etc/passwd stolen`,
      ];
      const all = lines.map((line) => fixture.run(`SVC_API_KEY=${key} edgerun ${line}`));
      return await Promise.all(all);
    }

    test("is no key without shell, and no other account", async ({ expect }) => {
      const { token } = await createKey("level: ALL");
      for (const { stdout, stderr, exitCode } of await outcomes(token)) {
        expect([stdout, exitCode]).toEqual(["", 1]);
        expect(stderr).toContain("shell: true");
      }
      const other = await newAccount("other");
      const shell = await managementApi(other.baseUrl, other.apiKey).query<{
        createApiKey: { token: string };
      }>(`mutation { createApiKey(input: { name: "shell", permissions: { shell: true } }) { token } }`, {});
      const strange = await outcomes(shell.createApiKey.token);
      const unknown = await outcomes(shell.createApiKey.token, "absent00000000");
      const naming = ({ stdout, stderr, exitCode }: Run) => [
        stdout,
        stderr.replaceAll(/absent00000000/g, podId),
        exitCode,
      ];
      expect(strange.map(naming)).toEqual(unknown.map(naming));
      for (const { stdout, stderr, exitCode } of strange) {
        expect([stdout, exitCode]).toEqual(["", 1]);
        expect(stderr).toContain(`There is no pod and no worker ${podId}`);
      }
    });

    test("is in the audit log, and no key that was revoked", async ({ expect }) => {
      const key = await createKey("permissions: { shell: true }");
      expect((await outcomes(key.token)).map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
      await graphql(`mutation { revokeApiKey(id: "${key.id}") }`);
      const refused = async () => {
        const all = await outcomes(key.token);
        return all.every(({ exitCode }) => exitCode === 1) && all;
      };
      const [first] = await until(refused, "the key is revoked everywhere", 60_000);
      expect(first?.stderr).toContain("✗");
      const entriesOf = async (id: string) => {
        const shown = "apiKeyId operation subjectKind subjectId fields";
        const { myself } = await graphql<{ myself: { auditLog: Record<string, unknown>[] } }>(
          `{ myself { auditLog(input: { apiKeyId: "${id}", limit: 200 }) { ${shown} } } }`,
        );
        return myself.auditLog;
      };
      const opened = { apiKeyId: key.id, subjectKind: "pod", subjectId: podId };
      expect(await entriesOf(key.id)).toEqual(
        expect.arrayContaining([
          { ...opened, operation: "GET /tunnels/{id}/exec", fields: ["command"] },
          { ...opened, operation: "GET /tunnels/{id}/ports/{port}", fields: [`port ${port}`] },
        ]),
      );
      expect(await entriesOf(keyId)).toContainEqual(
        expect.objectContaining({ subjectKind: "worker", subjectId: workerId, fields: ["command"] }),
      );
    });
  });
});
