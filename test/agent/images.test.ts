/** How images come to a host with Docker, how long they stay, and what is said of it: with a registry of the test's own. */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import Dockerode from "dockerode";
import { afterEach, beforeEach, describe, test } from "vitest";
import { EdgeClient } from "../../node-agent/edge/edge-client.ts";
import type { AgentEvent, AgentLog, LogFields } from "../../node-agent/core/log.ts";
import type { ImageOptions } from "../../node-agent/runtime/images/docker-images.ts";
import { DockerRuntime } from "../../node-agent/runtime/docker/docker-runtime.ts";
import type { PrepareOutcome, WorkerSpec } from "../../node-agent/runtime/interface/runtime.ts";
import { isDockerAvailable } from "../support/docker.ts";
import { ImageRegistry } from "../support/image-registry.ts";
import { MemoryImageStore } from "../support/memory-image-store.ts";
import { imageContent } from "../../src/contract/content.ts";
import { until } from "../support/until.ts";
import { workerSpec } from "./runtime-conformance.ts";

const hasDocker = await isDockerAvailable();
const docker = new Dockerode();

/** A runtime that keeps images, on terms of the test. */
class ImageHost {
  readonly store: MemoryImageStore;
  readonly assigned = new Set<string>();
  readonly events: { readonly event: AgentEvent; readonly fields: LogFields }[] = [];
  readonly runtime: DockerRuntime;
  readonly name = `edgerun-test-${randomUUID().slice(0, 8)}`;

  constructor(
    images: Partial<ImageOptions>,
    store: MemoryImageStore,
    client = docker,
    allowedRegistries: readonly string[] = ["127.0.0.1"],
  ) {
    this.store = store;
    const note = (event: AgentEvent, fields: LogFields = {}): void =>
      void this.events.push({ event, fields });
    const log: AgentLog = { debug: note, info: note, warn: note, error: note };
    const names = { hostId: this.name, networkName: this.name };
    this.runtime = new DockerRuntime({
      ...names,
      docker: client,
      hasRealGpus: false,
      log,
      images: { progressMs: 0, ...images },
      allowedRegistries,
    });
    this.runtime.configureCache({
      cachedImages: this.store,
      assignedImages: () => this.assigned,
      assignedArtifacts: () => new Set(),
      assignedModels: () => new Set(),
      artifacts: new EdgeClient("http://127.0.0.1:9", null),
    });
  }

  prepare(
    imageName: string,
    changes: Partial<WorkerSpec> = {},
    signal?: AbortSignal,
  ): Promise<PrepareOutcome> {
    const spec = workerSpec(imageName, "", { containerDiskInGb: 0, ...changes });
    return this.runtime.prepare(spec, ({ detail }) => detail !== null && this.details.push(detail), signal);
  }

  readonly details: string[] = [];

  /** These were last used long ago, one after the other. */
  age(...names: (string | undefined)[]): void {
    for (const item of this.store.items()) {
      this.store.save({ ...item, lastUsedAt: names.indexOf(item.name) });
    }
  }

  get kept(): string[] {
    return this.store.items().map(({ name }) => name);
  }
}

/** Docker, with so many pulls that end as on a full disk. */
function dockerOnFullDisk(times: number): Dockerode {
  const real = new Dockerode();
  let left = times;
  const pull = async (name: string, options: object): Promise<NodeJS.ReadableStream> => {
    left -= 1;
    if (left < 0) return real.pull(name, options);
    return Readable.from([JSON.stringify({ error: "write /var/lib/docker/tmp/x: no space left on device" })]);
  };
  return Object.assign(new Dockerode(), { pull });
}

async function idOf(imageName: string): Promise<string | null> {
  return docker
    .getImage(imageName)
    .inspect()
    .then(
      ({ Id }) => Id,
      () => null,
    );
}

async function namesOf(registry: ImageRegistry): Promise<string[]> {
  const prefix = registry.image("");
  const images = await docker.listImages();
  return images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((name) => name.startsWith(prefix));
}

async function pullManually(imageName: string): Promise<void> {
  const stream = await docker.pull(imageName);
  await new Promise((resolve) => docker.modem.followProgress(stream, resolve));
}

async function removeImages(registry: ImageRegistry): Promise<void> {
  const prefix = registry.image("");
  for (const { Id, RepoTags, RepoDigests } of await docker.listImages({ all: true })) {
    const names = [...(RepoTags ?? []), ...(RepoDigests ?? [])];
    if (names.some((name) => name.startsWith(prefix))) await docker.getImage(Id).remove({ force: true });
  }
}

describe.runIf(hasDocker)("images", () => {
  let registry: ImageRegistry;
  let host: ImageHost;
  /** An agent on the terms; one after another may have the same store. */
  const open = (images: Partial<ImageOptions> = {}, store = new MemoryImageStore()): ImageHost => {
    host = new ImageHost(images, store);
    return host;
  };

  beforeEach(async () => {
    registry = await ImageRegistry.open();
  });
  afterEach(async () => {
    await host.runtime.close();
    await removeImages(registry);
    await registry.close();
  });

  describe("registries on the host's own network", () => {
    test("are not asked, unless the owner allows it; an image that is here starts all the same", async ({
      expect,
    }) => {
      host = new ImageHost({}, new MemoryImageStore(), docker, []);
      const imageName = registry.image("team/model:1");
      const login = { username: "ada", password: "secret" };
      expect(await host.prepare(imageName, { registryAuth: login })).toMatchObject({
        kind: "failed",
        detail: expect.stringMatching(/127\.0\.0\.1:\d+.*--allow-registry/),
      });
      expect(registry.requests).toBe(0);
      await pullManually(imageName);
      expect(await host.prepare(imageName)).toEqual({ kind: "prepared" });
    });

    test("and the answers of a server are not repeated to the user who named it", async ({ expect }) => {
      open();
      registry.says("root:x:0:0 of another service");
      const outcome = await host.prepare(registry.image("team/absent:1"));
      expect(outcome).toMatchObject({ kind: "failed", detail: expect.stringContaining("team/absent:1") });
      expect(JSON.stringify(outcome)).not.toContain("root:x");
      const noted = host.events.filter(({ event }) => event === "image_not_pulled");
      expect(JSON.stringify(noted)).toContain("root:x:0:0");
    });
  });

  describe("pulls", () => {
    test("several workers of an image share one pull, and all show its progress", async ({ expect }) => {
      const { runtime } = open();
      const imageName = registry.image("team/model:1");
      const details: string[][] = [[], [], []];
      const resume = registry.stall("blobs");
      const pulls = details.map((list) =>
        runtime.prepare(workerSpec(imageName, ""), ({ detail }) => list.push(detail ?? "here")),
      );
      await registry.blobsAsked(1);
      resume();
      expect(await Promise.all(pulls)).toEqual(details.map(() => ({ kind: "prepared" })));
      expect(registry.asked).toEqual({ manifests: 2, blobs: 3 }); // a HEAD and a GET; configuration and layers
      for (const list of details) {
        expect(list.at(-2)).toMatch(/: 2 of 2 layers, \d+ of \d+ bytes$/);
        expect(list.at(-1)).toBe("here");
      }
    });

    test("what was pulled is among what the host has for workers", async ({ expect }) => {
      const { runtime } = open();
      const imageName = registry.image("team/model:1");
      expect(runtime.storedContents()).not.toContain(imageContent(imageName));
      await host.prepare(imageName);
      const look = async () => runtime.storedContents().includes(imageContent(imageName));
      await until(look, "the image is among them", 10_000);
    });

    test("a stalled pull is given up, and the next one succeeds", async ({ expect }) => {
      open({ stallMs: 300, checkLimitMs: 300 });
      const imageName = registry.image("team/model:1");
      for (const kind of ["manifests", "blobs"] as const) {
        registry.stall(kind);
        expect(await host.prepare(imageName)).toEqual({
          kind: "failed",
          detail: `The pull of image ${imageName} was given up: nothing came from its registry for 0.3 s.`,
        });
      }
      registry.restore();
      open();
      expect(await host.prepare(imageName)).toEqual({ kind: "prepared" });
    });

    test("a pull that no worker needs any longer is cancelled", async ({ expect }) => {
      open();
      const imageName = registry.image("team/model:1");
      const resume = registry.stall("blobs");
      const [first, second] = [new AbortController(), new AbortController()];
      const outcomes = [first, second].map(({ signal }) => host.prepare(imageName, {}, signal));
      await registry.blobsAsked(1);
      first.abort();
      expect(await outcomes[0]).toMatchObject({ kind: "failed" });
      second.abort();
      expect(await outcomes[1]).toMatchObject({ kind: "failed" });
      resume();
      await registry.answersClosed();
      const { blobs } = registry.asked;
      expect(await host.prepare(imageName)).toEqual({ kind: "prepared" });
      expect(registry.asked.blobs).toBeGreaterThan(blobs); // what had been called off was not there
    });

    test("a pull continues while one worker still waits for it", async ({ expect }) => {
      open();
      const imageName = registry.image("team/model:1");
      const resume = registry.stall("blobs");
      const leaving = new AbortController();
      const outcomes = [leaving.signal, undefined].map((signal) => host.prepare(imageName, {}, signal));
      await registry.blobsAsked(1);
      leaving.abort();
      expect(await outcomes[0]).toMatchObject({ kind: "failed" });
      resume();
      expect(await outcomes[1]).toEqual({ kind: "prepared" });
      expect(registry.asked.blobs).toBe(3);
    });
  });

  describe("tags and digests", () => {
    test("a tag is looked up again at a new release, and only then", async ({ expect }) => {
      open();
      const imageName = registry.image("team/model:1");
      await host.prepare(imageName, { revision: 1 });
      const first = await idOf(imageName);
      const asked = { ...registry.asked };
      registry.moveTag();
      await host.prepare(imageName, { revision: 1 });
      expect(registry.asked).toEqual(asked);
      expect(await idOf(imageName)).toBe(first);

      expect(await host.prepare(imageName, { revision: 2 })).toEqual({ kind: "prepared" });
      expect(await idOf(imageName)).not.toBe(first);
      expect(host.kept).toEqual([imageName, first]); // the old one has no name any more, and may go
    });

    test("a digest is never looked up again", async ({ expect }) => {
      open();
      const imageName = registry.pinned();
      await host.prepare(imageName, { revision: 1 });
      const asked = { ...registry.asked };
      await host.prepare(imageName, { revision: 2 });
      expect(registry.asked).toEqual(asked);
    });

    test("a registry that cannot be asked stops no start while the image is here", async ({ expect }) => {
      const { store } = open();
      const imageName = registry.image("team/model:1");
      await host.prepare(imageName, { revision: 1 });
      open({ checkLimitMs: 300 }, store);
      const resume = registry.stall("manifests");
      expect(await host.prepare(imageName, { revision: 2 })).toMatchObject({
        kind: "prepared",
        warning: expect.stringMatching(/is used as it is\. The pull of image .* was given up/),
      });
      resume();
      open({}, store);
      await registry.close();
      expect(await host.prepare(imageName, { revision: 3 })).toMatchObject({
        kind: "prepared",
        warning: expect.stringContaining("registry is not reachable"),
      });
    });

    test("once the registry has named another image, the old one is not started in its place", async ({
      expect,
    }) => {
      const { store } = open();
      const imageName = registry.image("team/model:1");
      await host.prepare(imageName, { revision: 1 });
      open({ stallMs: 300 }, store);
      registry.moveTag();
      const resume = registry.stall("blobs");
      const outcome = await host.prepare(imageName, { revision: 2 });
      resume();
      expect(outcome).toMatchObject({ kind: "failed", detail: expect.stringContaining("was given up") });
    });

    test("an image that the agent has not pulled is its owner's, and is used as it is", async ({
      expect,
    }) => {
      open();
      const imageName = registry.image("team/model:1");
      await pullManually(imageName);
      const asked = { ...registry.asked };
      await host.prepare(imageName, { revision: 2 });
      expect(registry.asked).toEqual(asked);
      expect(host.kept).toEqual([]);
    });
  });

  describe("the disk", () => {
    /** A disk that holds exactly `count` images of the test's registry. */
    const diskFor = (count: number): Partial<ImageOptions> => ({
      reserveBytes: 1,
      freeBytes: async () => count - (await namesOf(registry)).length,
    });

    test("makes room for a new image by removing the one that was not used for the longest time", async ({
      expect,
    }) => {
      open(diskFor(3));
      const names = registry.tags("a", "b", "c", "d");
      for (const name of names.slice(0, 3)) await host.prepare(name);
      host.age(names[1], names[0], names[2]);
      await host.prepare(names[3] ?? "");
      expect((await namesOf(registry)).toSorted()).toEqual([names[0], names[2], names[3]]);
      expect(host.kept.toSorted()).toEqual([names[0], names[2], names[3]]);
      expect(
        host.events.filter(({ event }) => event === "image_removed").map(({ fields }) => fields),
      ).toEqual([{ image: names[1], sizeBytes: expect.any(Number) }]);
    });

    test("is made room on when it is full in the middle of a pull", async ({ expect }) => {
      const { store } = open();
      const [old = "", newer = "", next = ""] = registry.tags("a", "b", "c");
      await host.prepare(old);
      await host.prepare(newer);
      host.age(old, newer);
      host = new ImageHost({ freeBytes: async () => null }, store, dockerOnFullDisk(1));
      expect(await host.prepare(next)).toEqual({ kind: "prepared" });
      expect((await namesOf(registry)).toSorted()).toEqual([newer, next]);

      host = new ImageHost({ freeBytes: async () => null }, store, dockerOnFullDisk(99));
      const outcome = await host.prepare(registry.tags("d")[0] ?? "");
      expect(outcome).toMatchObject({ detail: expect.stringContaining("does not fit on this host's disk") });
      expect(await namesOf(registry)).toEqual([]);
    });

    test("spares what a container has, what is assigned, and what its owner has pulled", async ({
      expect,
    }) => {
      open(diskFor(4));
      const [used = "", assigned = "", owned = "", unused = "", next = ""] = registry.tags(
        "a",
        "b",
        "c",
        "d",
        "e",
      );
      await pullManually(owned);
      for (const name of [used, assigned, unused]) await host.prepare(name);
      host.age(used, assigned, unused);
      host.assigned.add(assigned);
      const container = await docker.createContainer({ Image: used, Cmd: ["never-started"] });
      await host.prepare(next);
      await host.prepare(next); // there is still too little room, and nothing more may go
      expect((await namesOf(registry)).toSorted()).toEqual([used, assigned, owned, next]);
      await container.remove();
    });

    test("keeps the name of an image that its owner has replaced", async ({ expect }) => {
      open(diskFor(2));
      const [first = "", second = "", third = ""] = registry.tags("a", "b", "c");
      await host.prepare(first);
      await host.prepare(second);
      host.age(first, second);
      await docker.getImage(second).tag({ repo: registry.image("team/model"), tag: "a" });
      await host.prepare(third);
      expect(await namesOf(registry)).toContain(first);
      expect(host.kept).not.toContain(first);
    });

    test("removes the old content of a tag that has moved", async ({ expect }) => {
      open({ reserveBytes: 1, freeBytes: async () => 0 });
      const imageName = registry.image("team/model:1");
      await host.prepare(imageName, { revision: 1 });
      const old = (await idOf(imageName)) ?? "";
      registry.moveTag();
      host.assigned.add(imageName);
      await host.prepare(imageName, { revision: 2 });
      expect(await idOf(old)).not.toBeNull();
      await host.prepare(registry.tags("b")[0] ?? "");
      expect(await idOf(old)).toBeNull();
      expect(await idOf(imageName)).not.toBeNull();
    });
  });
});
