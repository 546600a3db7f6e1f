/** HTTP ports of a pod that runs as a process, and the link over which their requests come. */
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import type { Assignment } from "../../src/contract/agent/agent.ts";
import { AgentFixture, assignment } from "../support/agent-fixture.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

const SERVER = fileURLToPath(new URL("../support/pod-server.mjs", import.meta.url));
const POD = "pod-1";

type Ports = NonNullable<Assignment["pod"]>["ports"];

function pod(listensOn: number, ports: Ports): Assignment {
  const dockerArgs = JSON.stringify({ entrypoint: [process.execPath], cmd: [SERVER, `${listensOn}`] });
  const settings = { volumeInGb: 0, volumeMountPath: "", ports };
  return assignment({ workerId: POD, endpointId: POD, type: "POD", dockerArgs, pod: settings });
}

/** An agent whose pod has a server on one HTTP port, nothing on another, and a TCP port. */
async function linkedPod() {
  const [served, silent, tcp] = await Promise.all([freePort(), freePort(), freePort()]);
  const host = await AgentFixture.start();
  const { link } = host.edge;
  host.edge.assign(
    pod(served, [
      { port: served, protocol: "http" },
      { port: silent, protocol: "http" },
      { port: tcp, protocol: "tcp" },
    ]),
  );
  await link.until(() => link.said.at(-1)?.includes(POD));
  return { host, link, served, silent, tcp, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

describe("a pod with HTTP ports", () => {
  test("has a link, over which the port answers", async ({ expect }) => {
    await using world = await linkedPod();
    const { link, served } = world;
    const text = await until(async () => {
      const stream = await link.request({ workerId: POD, port: served }, { target: "/a%2Fb" }).over();
      return stream.reset === undefined && stream.text;
    }, "the server of the pod listens");
    expect(JSON.parse(text)).toMatchObject({ method: "GET", url: "/a%2Fb" });
    expect(link.asked).toEqual([POD]);
    expect(link.violations).toEqual([]);
  });

  test("is reached at no port that it does not list, and stays named", async ({ expect }) => {
    await using world = await linkedPod();
    const { host, link, silent, tcp } = world;
    const said = link.said.length;
    for (const port of [silent, tcp, Number(new URL(host.edge.url).port), 22]) {
      const { reset } = await link.request({ workerId: POD, port }).over();
      expect(reset?.reason).toBe("worker_failed");
      expect(reset?.detail).toMatch(/\bpod\b/); // and of no worker
      expect(reset?.detail).not.toMatch(/\bworker\b/i);
    }
    expect((await link.request(POD).over()).reset?.reason).toBe("worker_gone");
    expect(link.said.length).toBe(said);
  });

  test("leaves when it is no longer assigned", async () => {
    await using world = await linkedPod();
    const { host, link } = world;
    host.edge.assign();
    await link.until(() => link.said.at(-1)?.length === 0);
    await link.until(() => !link.isOpen);
  });

  test("has none without an HTTP port", async ({ expect }) => {
    await using host = await AgentFixture.start();
    const port = await freePort();
    host.edge.assign(pod(port, [{ port, protocol: "tcp" }]));
    await host.edge.worker(POD, "ready");
    expect(host.edge.link.asked).toEqual([]);
  });
});
