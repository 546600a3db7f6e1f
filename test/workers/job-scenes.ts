/** A job in each state that there is, reached the way that jobs get there. */
import { vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import type { EdgeClient } from "./edge-client.ts";
import { fireAlarm, passTime } from "./object.ts";

/** An endpoint, and an id to ask it for: that of a job in some state, or one that is none of its jobs. */
export type Scene = { readonly endpointId: string; readonly jobId: string };

/** The Idempotency-Key with which every job of a scene was submitted. */
export const SCENE_KEY = "scene";

const RUN_RETENTION_MS = 30 * 60_000;
const EXECUTION_TIMEOUT_MS = 5_000;
const TTL_MS = 10_000;

/** Moves the clock, which stands still from then on. */
function travel(ms: number): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  passTime(ms);
}

async function submitted(api: EdgeClient, policy: object = {}, settings = "workersMax: 0"): Promise<Scene> {
  const endpointId = await api.createEndpoint(settings);
  const headers = { "Idempotency-Key": SCENE_KEY };
  const { body } = await api.call("POST", `/v2/${endpointId}/run`, { input: { a: 1 }, policy }, headers);
  return { endpointId, jobId: String(body["id"]) };
}

async function taken(api: EdgeClient, policy: object = {}) {
  const scene = await submitted(api, policy, "idleTimeout: 3600");
  const agent = await ScriptedAgent.join(api);
  const workerId = await agent.bringUpWorker(scene.endpointId);
  const job = await agent.take(scene.endpointId, workerId);
  const ref = { jobId: job.id, attempt: job.attempt, workerId };
  return { ...scene, agent, job, ref };
}

async function completed(api: EdgeClient, output: unknown = { ok: true }): Promise<Scene> {
  const { agent, job, ...scene } = await taken(api);
  await agent.complete(scene.endpointId, job, output);
  return scene;
}

async function failed(api: EdgeClient): Promise<Scene> {
  const { agent, ref, ...scene } = await taken(api);
  await agent.report(scene.endpointId, { kind: "failed", ...ref, error: "no such model" });
  return scene;
}

async function cancelled({ call }: EdgeClient, scene: Scene): Promise<Scene> {
  await call("POST", `/v2/${scene.endpointId}/cancel/${scene.jobId}`);
  return scene;
}

async function expired(scene: Scene, isSwept: boolean): Promise<Scene> {
  travel(TTL_MS);
  if (isSwept) {
    passTime(TTL_MS); // the sweep may be that much late
    await fireAlarm(scene.endpointId);
  }
  return scene;
}

export const SCENES = {
  queued: (api) => submitted(api),
  running: (api) => taken(api),
  "running, with progress": async (api) => {
    const { agent, ref, ...scene } = await taken(api);
    await agent.exchange(scene.endpointId, { held: [{ ...ref, progress: "half" }] });
    return scene;
  },
  "queued again, its worker lost": async (api) => {
    const { agent, ref, ...scene } = await taken(api);
    await agent.report(scene.endpointId, { kind: "lost", ...ref, reason: "gone." });
    return scene;
  },
  completed: (api) => completed(api),
  "completed with nothing": (api) => completed(api, null),
  failed,
  "failed, its worker lost twice": async (api) => {
    const { agent, ref, ...scene } = await taken(api);
    await agent.report(scene.endpointId, { kind: "lost", ...ref, reason: "gone." });
    const { attempt } = await agent.take(scene.endpointId, ref.workerId);
    await agent.report(scene.endpointId, { kind: "lost", ...ref, attempt, reason: "gone." });
    return scene;
  },
  "failed, then retried": async (api) => {
    const scene = await failed(api);
    await api.call("POST", `/v2/${scene.endpointId}/retry/${scene.jobId}`);
    return scene;
  },
  "cancelled while queued": async (api) => cancelled(api, await submitted(api)),
  "cancelled while running": async (api) => cancelled(api, await taken(api)),
  timed_out: async (api) => {
    const scene = await taken(api, { executionTimeout: EXECUTION_TIMEOUT_MS });
    travel(EXECUTION_TIMEOUT_MS);
    await fireAlarm(scene.endpointId);
    return scene;
  },
  purged: async (api) => {
    const scene = await submitted(api);
    await api.call("POST", `/v2/${scene.endpointId}/purge-queue`);
    travel(11_000); // so that purge-queue may be asked for twice more
    return scene;
  },
  "expired while queued": async (api) => expired(await submitted(api, { ttl: TTL_MS }), false),
  "expired while queued, swept": async (api) => expired(await submitted(api, { ttl: TTL_MS }), true),
  "expired while running": async (api) => expired(await taken(api, { ttl: TTL_MS }), false),
  "expired while running, swept": async (api) => expired(await taken(api, { ttl: TTL_MS }), true),
  "retained out": async (api) => {
    const scene = await completed(api);
    travel(RUN_RETENTION_MS);
    return scene;
  },
  "retained out, swept": async (api) => {
    const scene = await completed(api);
    travel(RUN_RETENTION_MS + 10_000);
    await fireAlarm(scene.endpointId);
    return scene;
  },
  "unknown id": async (api) => ({
    endpointId: await api.createEndpoint(),
    jobId: "00000000-0000-4000-8000-000000000000-s0",
  }),
  "malformed id": async (api) => ({ endpointId: await api.createEndpoint(), jobId: "hello" }),
  "another endpoint's id": async (api) => {
    const { jobId } = await submitted(api);
    return { endpointId: await api.createEndpoint("workersMax: 0"), jobId };
  },
  "another account's id": async (api) => {
    const { jobId } = await submitted(api);
    await api.signInAsNewAccount();
    return { endpointId: await api.createEndpoint("workersMax: 0"), jobId };
  },
  "another account's endpoint": async (api) => {
    const scene = await submitted(api);
    await api.signInAsNewAccount();
    return scene;
  },
} satisfies Record<string, (api: EdgeClient) => Promise<Scene>>;

export type SceneName = keyof typeof SCENES;

export function isSceneName(name: string): name is SceneName {
  return name in SCENES;
}
