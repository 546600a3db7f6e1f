/** A job in each state that there is, reached the way that jobs get there. */
import { vi } from "vitest";
import { ScriptedAgent } from "./agent-client.ts";
import { call, createEndpoint, signInAsNewAccount } from "./edge-client.ts";
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

async function submitted(policy: object = {}, settings = "workersMax: 0"): Promise<Scene> {
  const endpointId = await createEndpoint(settings);
  const headers = { "Idempotency-Key": SCENE_KEY };
  const { body } = await call("POST", `/v2/${endpointId}/run`, { input: { a: 1 }, policy }, headers);
  return { endpointId, jobId: String(body["id"]) };
}

async function taken(policy: object = {}) {
  const scene = await submitted(policy, "idleTimeout: 3600");
  const agent = await ScriptedAgent.join();
  const workerId = await agent.bringUpWorker(scene.endpointId);
  const job = await agent.take(scene.endpointId, workerId);
  const ref = { jobId: job.id, attempt: job.attempt, workerId };
  return { ...scene, agent, job, ref };
}

async function completed(output: unknown = { ok: true }): Promise<Scene> {
  const { agent, job, ...scene } = await taken();
  await agent.complete(scene.endpointId, job, output);
  return scene;
}

async function failed(): Promise<Scene> {
  const { agent, ref, ...scene } = await taken();
  await agent.report(scene.endpointId, { kind: "failed", ...ref, error: "no such model" });
  return scene;
}

async function cancelled(scene: Scene): Promise<Scene> {
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
  queued: () => submitted(),
  running: () => taken(),
  "running, with progress": async () => {
    const { agent, ref, ...scene } = await taken();
    await agent.exchange(scene.endpointId, { held: [{ ...ref, progress: "half" }] });
    return scene;
  },
  "queued again, its worker lost": async () => {
    const { agent, ref, ...scene } = await taken();
    await agent.report(scene.endpointId, { kind: "lost", ...ref, reason: "gone." });
    return scene;
  },
  completed: () => completed(),
  "completed with nothing": () => completed(null),
  failed,
  "failed, its worker lost twice": async () => {
    const { agent, ref, ...scene } = await taken();
    await agent.report(scene.endpointId, { kind: "lost", ...ref, reason: "gone." });
    const { attempt } = await agent.take(scene.endpointId, ref.workerId);
    await agent.report(scene.endpointId, { kind: "lost", ...ref, attempt, reason: "gone." });
    return scene;
  },
  "failed, then retried": async () => {
    const scene = await failed();
    await call("POST", `/v2/${scene.endpointId}/retry/${scene.jobId}`);
    return scene;
  },
  "cancelled while queued": async () => cancelled(await submitted()),
  "cancelled while running": async () => cancelled(await taken()),
  timed_out: async () => {
    const scene = await taken({ executionTimeout: EXECUTION_TIMEOUT_MS });
    travel(EXECUTION_TIMEOUT_MS);
    await fireAlarm(scene.endpointId);
    return scene;
  },
  purged: async () => {
    const scene = await submitted();
    await call("POST", `/v2/${scene.endpointId}/purge-queue`);
    travel(11_000); // so that purge-queue may be asked for twice more
    return scene;
  },
  "expired while queued": async () => expired(await submitted({ ttl: TTL_MS }), false),
  "expired while queued, swept": async () => expired(await submitted({ ttl: TTL_MS }), true),
  "expired while running": async () => expired(await taken({ ttl: TTL_MS }), false),
  "expired while running, swept": async () => expired(await taken({ ttl: TTL_MS }), true),
  "retained out": async () => {
    const scene = await completed();
    travel(RUN_RETENTION_MS);
    return scene;
  },
  "retained out, swept": async () => {
    const scene = await completed();
    travel(RUN_RETENTION_MS + 10_000);
    await fireAlarm(scene.endpointId);
    return scene;
  },
  "unknown id": async () => ({
    endpointId: await createEndpoint(),
    jobId: "00000000-0000-4000-8000-000000000000-s0",
  }),
  "malformed id": async () => ({ endpointId: await createEndpoint(), jobId: "hello" }),
  "another endpoint's id": async () => {
    const { jobId } = await submitted();
    return { endpointId: await createEndpoint("workersMax: 0"), jobId };
  },
  "another account's id": async () => {
    const { jobId } = await submitted();
    await signInAsNewAccount();
    return { endpointId: await createEndpoint("workersMax: 0"), jobId };
  },
  "another account's endpoint": async () => {
    const scene = await submitted();
    await signInAsNewAccount();
    return scene;
  },
} satisfies Record<string, () => Promise<Scene>>;

export type SceneName = keyof typeof SCENES;

export function isSceneName(name: string): name is SceneName {
  return name in SCENES;
}
