/** Workers of load-balanced endpoints in real containers: how the agent reaches them, and why it does not. */
import Dockerode from "dockerode";
import { execa } from "execa";
import { beforeAll, describe, test } from "vitest";
import { ContainerHost } from "../support/container-host.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { ensureServerImage } from "../support/script-image.ts";
import { enter, openWorkers, servingContainer, command } from "../support/serving-worker.ts";
import { inTurn } from "../support/turn.ts";

const hasDocker = await isDockerAvailable();
const docker = new Dockerode();

describe.runIf(hasDocker)("a container that serves requests", () => {
  let image = "";
  let unprivilegedImage = "";

  beforeAll(async () => {
    image = await inTurn("images", () => ensureServerImage("root"));
    unprivilegedImage = await inTurn("images", () => ensureServerImage("nobody"));
  });

  /** Assigns a worker and waits until it takes requests; answers its id. */
  async function served(host: ContainerHost, env: Record<string, string> = {}): Promise<string> {
    const one = servingContainer(image, env);
    host.fixture.edge.assign(one);
    await host.fixture.edge.worker(one.workerId, "ready");
    return one.workerId;
  }

  test("gets its ports and is reached there, whatever its user is", async ({ expect }) => {
    const cases = [
      { of: image, env: {}, says: ["80", "80", "/ping"] },
      { of: unprivilegedImage, env: {}, says: ["80", "80", "/ping"] },
      {
        of: image,
        env: { PORT: "5000", HEALTH_CHECK_PATH: "/up?deep=1" },
        says: ["5000", "5000", "/up?deep=1"],
      },
      {
        of: unprivilegedImage,
        env: { PORT: "5000", PORT_HEALTH: "5001", SERVER_HEALTH_PORT: "5001" },
        says: ["5000", "5001", "/ping"],
      },
    ];
    await using host = await ContainerHost.start();
    const workers = cases.map(({ of, env }) => servingContainer(of, env));
    host.fixture.edge.assign(...workers);
    for (const [index, { workerId }] of workers.entries()) {
      await host.fixture.edge.worker(workerId, "ready");
      const entry = enter(host.fixture, workerId);
      const place = `http://${entry.host}:${entry.port}`;
      const names = ["PORT", "PORT_HEALTH", "HEALTH_CHECK_PATH"];
      const said = names.map(async (name) => (await fetch(`${place}/env/${name}`)).text());
      expect(await Promise.all(said)).toEqual(cases[index]?.says);
      expect(String(entry.port)).toBe(cases[index]?.says[0]);
      entry.release();
    }
  });

  test("that listens on an unreachable port is never ready, and the reason is reported", async ({
    expect,
  }) => {
    const cases = [
      {
        env: { SERVER_PORT: "8000" },
        detail: /^nothing listens on port 80; the container listens on 8000: set PORT=8000$/,
      },
      {
        env: { SERVER_HOST: "127.0.0.1", PORT: "8000" },
        detail: /^the server listens on 127\.0\.0\.1:8000 only; bind 0\.0\.0\.0$/,
      },
      {
        env: { SERVER_HOST: "127.0.0.1", SERVER_PORT: "8000" },
        detail:
          /^nothing listens on port 80; the container listens on 127\.0\.0\.1:8000 only: bind 0\.0\.0\.0, and set PORT=8000$/,
      },
      { env: { SERVER_PORT: "none" }, detail: /^nothing listens on port 80 yet$/ },
    ];
    await using host = await ContainerHost.start();
    const workers = cases.map(({ env }) => servingContainer(image, env));
    host.fixture.edge.assign(...workers);
    for (const [index, { workerId }] of workers.entries())
      await host.says("starting", cases[index]?.detail ?? /^$/, workerId);
    expect(openWorkers(host.fixture)).toEqual([]);
    expect(host.fixture.count("worker_ready")).toBe(0);
  });

  test("that is killed takes no requests from that moment, and is started again", async ({ expect }) => {
    await using host = await ContainerHost.start({}, { healthProbeMs: 600_000, restartBaseMs: 1_000 });
    const workerId = await served(host);
    await docker.getContainer(`edgerun-${workerId}`).kill();
    await host.fixture.logged("worker_failed");
    expect(openWorkers(host.fixture)).toEqual([]);
    await host.fixture.logged("worker_ready", 2);
    expect(openWorkers(host.fixture)).toEqual([workerId]);
  });

  test("is drained while a request is answered, and stopped after it", async ({ expect }) => {
    await using host = await ContainerHost.start();
    const { fixture } = host;
    const workerId = await served(host);
    const entry = enter(fixture, workerId);
    const answer = await fetch(`http://${entry.host}:${entry.port}/hold`);
    fixture.edge.assign();
    await fixture.edge.worker(workerId, "stopping");
    await command(entry, "/release");
    expect(await answer.text()).toBe("whole");
    entry.release();
    await fixture.edge.workerGone(workerId);
    expect(await host.runtime.list()).toEqual([]);
  });

  test("is frozen and thawed at the same address", async ({ expect }) => {
    await using host = await ContainerHost.start();
    const { fixture } = host;
    const one = servingContainer(image);
    fixture.edge.assign(one);
    await fixture.edge.worker(one.workerId, "ready");
    const before = enter(fixture, one.workerId);
    before.release();
    fixture.edge.assign({ ...one, mode: "standby" });
    await fixture.logged("worker_frozen");
    expect(openWorkers(fixture)).toEqual([]);
    fixture.edge.assign(one);
    await fixture.logged("worker_ready", 2);
    const { host: address, port } = enter(fixture, one.workerId);
    expect({ address, port }).toEqual({ address: before.host, port: before.port });
    expect(fixture.count("worker_health_lost")).toBe(0);
    expect(fixture.count("worker_started")).toBe(1);
  });

  test("continues while its agent is restarted, and takes requests after one health check", async ({
    expect,
  }) => {
    await using host = await ContainerHost.start();
    const workerId = await served(host, { PORT: "5000" });
    const { release, ...place } = enter(host.fixture, workerId);
    release();
    await host.restart({ healthProbeMs: 600_000 });
    await expect.poll(() => openWorkers(host.fixture)).toEqual([workerId]);
    expect(enter(host.fixture, workerId)).toMatchObject(place);
    expect(host.fixture.count("worker_started")).toBe(1);
  });

  test("is reached by the agent, and by no other container", async ({ expect }) => {
    await using host = await ContainerHost.start();
    const { fixture } = host;
    const [one, other] = [servingContainer(image), servingContainer(image)];
    fixture.edge.assign(one, other);
    await fixture.logged("worker_ready", 2);
    const entry = enter(fixture, one.workerId);
    expect(await command(entry, "/")).toBe("done");
    const attempt = `fetch("http://${entry.host}:${entry.port}/", { signal: AbortSignal.timeout(5_000) }).then(() => "reached", () => "refused").then(console.log)`;
    const inside = await execa("docker", ["exec", `edgerun-${other.workerId}`, "node", "-e", attempt]);
    expect(inside.stdout).toBe("refused");
    const itself = await execa("docker", ["exec", `edgerun-${one.workerId}`, "node", "-e", attempt]);
    expect(itself.stdout).toBe("reached");
  });
});
