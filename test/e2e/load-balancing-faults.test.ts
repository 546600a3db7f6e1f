/** Load-balanced endpoints while hosts and workers fail, are changed or never begin, on a fleet of two hosts. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { managementApi } from "../../standalone/management-api.ts";
import { LINK_SUSPECT_MS, LINK_SILENCE_MS } from "../../src/link/link-messages.ts";
import { LOAD_BALANCED_APP_COMMAND } from "../support/load-balanced-app.ts";
import { LoadBalancedClient } from "../support/load-balanced-client.ts";
import { LoadBalancedLoad } from "../support/load-balanced-load.ts";
import { layOutBundle } from "../support/edgerun.ts";
import { createEndpoint, type EndpointSettings } from "../support/management-client.ts";
import { LogClient } from "../support/log-client.ts";
import { FleetRig } from "../support/rig/fleet-rig.ts";
import type { RigHost } from "../support/rig/rig-host.ts";
import { canBreakHosts } from "../support/rig/rig-machine.ts";

/** In place of the two minutes for which a request waits for a worker. */
const WAIT_SECONDS = 15;
const CLIENTS = 6;
/** Longer than an object stays awake for nothing; nothing tells that it sleeps. */
const SLEEP_MS = 11_000;

/** Well after a silent link gets no more requests, and well before those that it has are given up. */
const AVOIDED_MS = (LINK_SUSPECT_MS + LINK_SILENCE_MS) / 2;

type ErrorBody = { readonly code: string; readonly error: string };
type Echo = { readonly word: string };

describe.runIf(await canBreakHosts())("load-balanced endpoints on a fleet of two hosts", () => {
  let rig: FleetRig;
  let hosts: readonly RigHost[];

  beforeAll(async () => {
    rig = await FleetRig.open(layOutBundle, { LB_WAIT_SECONDS: String(WAIT_SECONDS) });
    const settings = { gpus: "2x RTX 4090", hasLink: true } as const;
    hosts = [
      await rig.addHost({ name: "first", ...settings }),
      await rig.addHost({ name: "second", ...settings }),
    ];
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  type Own = {
    readonly endpointId: string;
    readonly templateId: string;
    readonly client: LoadBalancedClient;
  };

  /** An endpoint that always has so many workers; all of them go when it is out of scope. */
  async function open(
    workers: number,
    env: Record<string, string> = {},
    own: Partial<EndpointSettings> = {},
  ): Promise<Own & AsyncDisposable> {
    const endpointId = await createEndpoint(rig, {
      name: `direct-${crypto.randomUUID()}`,
      type: "LB",
      dockerArgs: LOAD_BALANCED_APP_COMMAND,
      env,
      workersMin: workers,
      workersMax: workers,
      scalerType: "REQUEST_COUNT",
      scalerValue: 100,
      ...own,
    });
    const api = managementApi(rig.baseUrl, rig.apiKey);
    const { myself } = await api.query<{ myself: { endpoint: { templateId: string } } }>(
      `{ myself { endpoint(id: "${endpointId}") { templateId } } }`,
    );
    const client = new LoadBalancedClient({ baseUrl: rig.baseUrl, apiKey: rig.apiKey, endpointId });
    return {
      endpointId,
      templateId: myself.endpoint.templateId,
      client,
      async [Symbol.asyncDispose]() {
        await client[Symbol.asyncDispose]();
        const input = { id: endpointId, workersMin: 0, workersMax: 0 };
        await api.query("mutation ($input: EndpointInput!) { saveEndpoint(input: $input) { id } }", {
          input,
        });
        await api.query(`mutation { deleteEndpoint(id: "${endpointId}") }`); // what is on standby goes, too
      },
    };
  }

  const errorOf = async ({ client }: Own): Promise<[number, ErrorBody]> => {
    const answer = await client.send("/echo");
    return [answer.statusCode, (await answer.body.json()) as ErrorBody];
  };
  const ready = async ({ endpointId }: Own): Promise<number> =>
    (await rig.clientOf(endpointId).health()).workers.ready;

  describe.concurrent("what takes its time", () => {
    test("a request waits for a worker whose server never becomes healthy, and then fails with the reason", async ({
      expect,
    }) => {
      await using endpoint = await open(1, { APP_HEALTH: "503" });
      const [status, body] = await errorOf(endpoint);
      expect([status, body.code]).toEqual([400, "worker_timeout"]);
      expect(body.error).toMatch(/answers 503/);
    });

    test("a worker that listens on another port is ended, and waiting requests and the logs say why", async ({
      expect,
    }) => {
      await using endpoint = await open(1, { APP_PORT: "18999", RUNPOD_INIT_TIMEOUT: "10" });
      const { endpointId } = endpoint;
      const reply = errorOf(endpoint);
      const logs = new LogClient({ baseUrl: rig.baseUrl, apiKey: rig.apiKey, endpointId });
      const why = String.raw`nothing listens on port \d+; the worker listens on 18999`;
      for (const message of [
        `Cannot get requests: ${why}`,
        `was not healthy within 10 s of its start: ${why}`,
      ]) {
        await logs.until({ source: "system" }, (lines) =>
          lines.some(({ line }) => new RegExp(message).test(line)),
        );
      }
      const unhealthy = async () => (await rig.clientOf(endpointId).health()).workers.unhealthy;
      await expect.poll(unhealthy, { timeout: 90_000 }).toBe(1);
      const [status, body] = await reply;
      expect([status, body.code]).toEqual([400, "worker_timeout"]);
      expect(body.error).toMatch(new RegExp(why));
    });

    test("a scaled-down worker finishes requests that ask for it", async ({ expect }) => {
      const scaling = { workersMin: 0, workersMax: 1, idleTimeout: 1, flashBootType: "FLASHBOOT" } as const;
      await using endpoint = await open(1, {}, scaling);
      const name = crypto.randomUUID();
      const first = await endpoint.client.send(`/case/${name}/upload`, { method: "POST", body: "a note" });
      expect(await first.body.json()).toBe("whole");
      const workers = async () => (await rig.clientOf(endpoint.endpointId).health()).workers;
      const none = { idle: 0, running: 0, initializing: 0 };
      await expect.poll(workers, { timeout: 90_000 }).toMatchObject(none);

      const workerId = String(first.headers["x-runpod-worker-id"]);
      const headers = { "x-runpod-worker-id": `strict-resume ${workerId}` };
      const again = await endpoint.client.send(`/case/${name}/told/arrived`, { headers });
      expect([again.statusCode, again.headers["x-runpod-worker-id"]]).toEqual([200, workerId]);
      expect(await again.body.json()).toEqual(["arrived"]);
    });

    test("a WebSocket on which nothing happens stays open while its endpoint sleeps", async ({ expect }) => {
      await using endpoint = await open(1);
      const socket = await endpoint.client.open(`/case/${crypto.randomUUID()}/socket`);
      for (const message of ["first", "second"]) {
        socket.socket.send(message);
        expect(String((await socket.next()).data)).toBe(message);
        // oxlint-disable-next-line edgerun/no-sleeps -- an object that does nothing for so long sleeps, and nothing tells of it
        if (message === "first") await delay(SLEEP_MS);
      }
      socket.socket.close(1000);
      await socket.closed;
    });
  });

  test("a request with affinity goes to that worker, or fails when the worker no longer exists", async ({
    expect,
  }) => {
    await using endpoint = await open(2);
    await expect.poll(() => ready(endpoint), { timeout: 90_000 }).toBe(2);
    const workerOf = async (affinity?: string) => {
      const headers = affinity === undefined ? {} : { "x-runpod-worker-id": affinity };
      const answer = await endpoint.client.send("/echo", { headers });
      return [answer.statusCode, answer.headers["x-runpod-worker-id"], await answer.body.text()] as const;
    };
    const first = String((await workerOf())[1]);
    for (const affinity of [first, `strict ${first}`, `strict-resume ${first}`]) {
      for (let count = 0; count < 5; count += 1) {
        expect((await workerOf(affinity)).slice(0, 2)).toEqual([200, first]);
      }
    }
    expect((await workerOf("nobody"))[0]).toBe(200);
    const [status, , body] = await workerOf("strict nobody");
    expect([status, JSON.parse(body)]).toMatchObject([404, { code: "affinity_worker_gone" }]);
  });

  test("a release under steady load costs no request, and ends in the new one", async ({ expect }) => {
    await using endpoint = await open(2, { WORD: "one" });
    await using load = new LoadBalancedLoad(endpoint.client, CLIENTS, "/echo");
    await expect.poll(() => ready(endpoint), { timeout: 90_000 }).toBe(2);
    const api = managementApi(rig.baseUrl, rig.apiKey);
    await api.query("mutation ($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }", {
      input: { id: endpoint.templateId, env: [{ key: "WORD", value: "two" }] },
    });
    const release = async () => (await rig.clientOf(endpoint.endpointId).health()).release;
    await expect.poll(release, { timeout: 90_000 }).not.toBe(null);
    await expect.poll(release, { timeout: 90_000 }).toBe(null);
    const replacedAt = performance.now();
    await load.untilOneSince(replacedAt);
    await load.stop();
    expect(load.failed).toEqual([]);
    const repliesSince = (since: number) => [
      ...new Set(
        load.requests
          .filter(({ sentAt }) => sentAt >= since)
          .map(({ body }) => (JSON.parse(body) as Echo).word),
      ),
    ];
    expect(repliesSince(0)).toEqual(expect.arrayContaining(["one", "two"]));
    expect(repliesSince(replacedAt)).toEqual(["two"]);
  });

  test("of a host that is lost under load only requests fail that it had, and they say why", async ({
    expect,
  }) => {
    const workersOfHosts = async () => [...(await rig.hosts()).values()].map(({ workers }) => workers);
    await expect.poll(workersOfHosts, { timeout: 90_000 }).toEqual([0, 0]); // those of the tests before
    await using endpoint = await open(2);
    await expect.poll(() => ready(endpoint), { timeout: 90_000 }).toBe(2);
    const { client } = endpoint;
    const [lost] = hosts;
    const before = await rig.hosts();
    expect([...before.values()].map(({ workers }) => workers)).toEqual([1, 1]);
    await using load = new LoadBalancedLoad(client, CLIENTS, "/echo");
    const name = crypto.randomUUID();
    // Each worker gets some of several requests at once.
    const held = Array.from({ length: 4 }, () => client.send(`/case/${name}/hold`));
    await client.told(name, "arrived");
    await load.untilOneSince(performance.now());

    await lost?.link.unplug();
    const unpluggedAt = performance.now();
    const first = await Promise.race(held);
    expect([first.statusCode, await first.body.json()]).toMatchObject([502, { code: "worker_failed" }]);
    await load.untilOneSince(performance.now());
    await load.stop();
    await lost?.link.plugIn();
    for (const { status, sentAt, body } of load.failed) {
      expect([status, JSON.parse(body)]).toMatchObject([502, { code: "worker_failed" }]);
      expect(sentAt).toBeLessThan(unpluggedAt + AVOIDED_MS);
    }
    // Each client had one request there at most when the host fell silent, or until that was noticed.
    expect(load.failed.length).toBeLessThanOrEqual(CLIENTS);
  });
});
