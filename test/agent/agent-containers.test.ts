/** The life of workers in real containers: how each end is seen, and what is said of it. */
import { randomUUID } from "node:crypto";
import Dockerode from "dockerode";
import { beforeAll, describe, test } from "vitest";
import { assignment } from "../support/agent-fixture.ts";
import { ContainerHost } from "../support/container-host.ts";
import { DockerLink } from "../support/docker-link.ts";
import { ensureTestImage, isDockerAvailable, TEST_IMAGE } from "../support/docker.ts";
import { ImageRegistry } from "../support/image-registry.ts";
import { ensureScriptImage } from "../support/script-image.ts";
import { inTurn } from "../support/turn.ts";

const hasDocker = await isDockerAvailable();
const docker = new Dockerode();

describe.runIf(hasDocker)("a worker in a container", () => {
  let scriptImage = "";

  beforeAll(async () => {
    await ensureTestImage();
    scriptImage = await inTurn("images", () => ensureScriptImage());
  });

  const workerId = (): string => `w-${randomUUID().slice(0, 8)}`;

  test("that ends after every start is crash-looping, with a reason", async ({ expect }) => {
    const hungry = `sh -c 'text=a; while :; do text=$text$text; done'`;
    const cases = [
      {
        dockerArgs: "sh -c 'exit 0'",
        detail: /^exited with code 0: its start command came to its end;/,
      },
      { dockerArgs: "no-such-command", detail: /^exited with code 127: .*exec no-such-command failed/ },
      { dockerArgs: "/etc/passwd", detail: /^exited with code 126: .*Permission denied/ },
      {
        dockerArgs: hungry,
        limits: { cpuMilli: 1_000, memoryMb: 16 },
        detail: /^ran out of memory \(it may have 16 MB\) and was killed/,
      },
    ];
    await using host = await ContainerHost.start();
    for (const { detail, ...made } of cases) {
      const one = assignment({ workerId: workerId(), imageName: TEST_IMAGE, ...made });
      host.fixture.edge.assign(one);
      const said = await host.says("crash_looping", detail, one.workerId);
      expect(said).toMatch(/; starts again in \d+ s$/);
    }
  });

  test("whose image is built for another processor reports that when it fails", async ({ expect }) => {
    await using host = await ContainerHost.start();
    await using registry = await ImageRegistry.openFor("s390x");
    const imageName = registry.image("team/model:1");
    host.fixture.edge.assign(assignment({ workerId: workerId(), imageName, dockerArgs: "/one.txt" }));
    expect(await host.says("crash_looping", /built for/)).toMatch(/\bs390x\b/);
    host.fixture.edge.assign();
    await host.fixture.logged("worker_removed");
    await docker.getImage(imageName).remove();
  });

  test("whose image has no start command reports that", async ({ expect }) => {
    await using host = await ContainerHost.start();
    await using registry = await ImageRegistry.open();
    const imageName = registry.image("team/model:1");
    host.fixture.edge.assign(assignment({ workerId: workerId(), imageName, dockerArgs: "" }));
    expect(await host.says("crash_looping", /./)).toMatch(/[Nn]o command specified.*Check the start command/);
    host.fixture.edge.assign();
    await host.fixture.logged("worker_removed");
    await docker.getImage(imageName).remove();
  });

  test.for([
    ["removes", (id: string) => docker.getContainer(id).remove({ force: true }), /killed by signal SIGKILL/],
    ["stops", (id: string) => docker.getContainer(id).stop({ t: 0 }), /killed by signal SIGKILL/],
  ] as const)(
    "that its owner %s loses its job, says so, and is started again",
    async ([, end, message], { expect }) => {
      await using host = await ContainerHost.start();
      const { fixture } = host;
      const one = assignment({ workerId: workerId(), imageName: scriptImage, dockerArgs: "" });
      fixture.edge.assign(one);
      await fixture.edge.worker(one.workerId, "ready");
      fixture.edge.submit(one.endpointId, { id: "job-1", input: { mock_never: 1 } });
      await fixture.logged("job_delivered");
      await end(`edgerun-${one.workerId}`);
      const reason = expect.stringMatching(message);
      expect(await fixture.edge.report("job-1")).toMatchObject({ kind: "lost", reason });
      await fixture.logged("worker_ready", 2);
    },
  );

  test("reports the digest of its image", async ({ expect }) => {
    await using host = await ContainerHost.start();
    const one = assignment({ workerId: workerId(), imageName: scriptImage, dockerArgs: "" });
    host.fixture.edge.assign(one);
    const { Id } = await docker.getImage(scriptImage).inspect();
    const { edge } = host.fixture;
    await edge.until(() => edge.syncs.at(-1)?.workers.some(({ imageDigest }) => imageDigest === Id));
    expect(host.fixture.count("worker_image")).toBe(1);
  });

  test("is not started while Docker does not answer, reports that, and starts afterwards", async ({
    expect,
  }) => {
    await using link = await DockerLink.open();
    const throughLink = new Dockerode({ socketPath: link.path });
    await using host = await ContainerHost.start({ docker: throughLink, callLimitMs: 5_000 });
    link.block();
    const one = assignment({ workerId: workerId(), imageName: scriptImage, dockerArgs: "" });
    host.fixture.edge.assign(one);
    expect(await host.says("pulling", /tries again/)).toMatch(/Docker gave no answer/);
    await link.cut();
    await link.restore();
    await host.fixture.edge.worker(one.workerId, "ready");
  });
});
