/** Nothing that one worker or one job brings along takes the messages of others with it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  exchangeReplySchema,
  exchangeRequestSchema,
  syncReplySchema,
  syncRequestSchema,
  AGENT_VERSION_MAX_CHARACTERS,
  INVENTORY_MAX_CHARACTERS,
} from "./agent.ts";
import { NAME_MAX_CHARACTERS } from "../limits.ts";
import { logRequestSchema } from "./log.ts";

const ref = { jobId: "j", attempt: 1, workerId: "w" };
const assignment = {
  workerId: "w",
  endpointId: "e",
  revision: 1,
  type: "QB",
  imageName: "i",
  dockerArgs: "",
  env: {},
  containerDiskInGb: 5,
  gpuIndexes: [0],
  registryAuth: null,
  startLimitMs: 1_000,
};
const GOOD = {
  workers: { workerId: "w", endpointId: "e", revision: 1, state: "ready", detail: "d", ago: { ready: 1 } },
  assignments: assignment,
  held: { ...ref, progress: 1, ago: { handlerStarted: 1 } },
  reports: { kind: "completed", ...ref, output: 1 },
  chunks: { ...ref, from: 1, outputs: [1] },
  slots: { workerId: "w", free: 1 },
  acks: { jobId: "j", attempt: 1, outcome: "accepted" },
  chunkAcks: { jobId: "j", attempt: 1, received: 1 },
  jobs: { id: "j", attempt: 1, workerId: "w", input: 1, executionTimeoutMs: 1 },
  stops: { jobId: "j", attempt: 1, reason: "cancelled" },
  lines: { endpointId: "e", workerId: "w", lines: [{ seq: 1, source: "system", line: "x" }] },
};
const inventory = { gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "docker" };
const sync = { agentVersion: "1.0.0", inventory, appliedRevision: 0, holdMs: 0 };
const exchange = {
  session: "s",
  turn: 1,
  openTurns: [],
  holdMs: 0,
  held: [],
  reports: [],
  chunks: [],
  slots: [],
};
const reply = { acks: [], chunkAcks: [], jobs: [], stops: [] };
const LISTS = [
  ["workers", syncRequestSchema, sync],
  ["assignments", syncReplySchema, { revision: 1 }],
  ["held", exchangeRequestSchema, exchange],
  ["reports", exchangeRequestSchema, exchange],
  ["chunks", exchangeRequestSchema, exchange],
  ["slots", exchangeRequestSchema, exchange],
  ["acks", exchangeReplySchema, reply],
  ["chunkAcks", exchangeReplySchema, reply],
  ["jobs", exchangeReplySchema, reply],
  ["stops", exchangeReplySchema, reply],
] as const;

/** The good one with any of its members replaced by anything, or anything at all. */
const spoiled = (good: object) =>
  fc.oneof(
    fc.anything(),
    fc
      .dictionary(fc.constantFrom(...Object.keys(good)), fc.anything(), { minKeys: 1 })
      .map((members) => ({ ...good, ...members })),
  );

test.for(LISTS)("of %s, one that is bad leaves the others as they are", ([name, schema, rest]) => {
  const good: object = GOOD[name];
  fc.assert(
    fc.property(spoiled(good), fc.nat(1), (bad, place) => {
      const items = place === 0 ? [bad, good, good] : [good, good, bad];
      const read = schema.parse({ ...rest, [name]: items }) as unknown as Record<string, object[]>;
      const list = read[name] ?? [];
      expect(place === 0 ? list.slice(-2) : list.slice(0, 2)).toEqual([good, good]);
    }),
  );
});

test("of lines of workers, those that are bad leave the others as they are", () => {
  fc.assert(
    fc.property(spoiled(GOOD.lines), fc.anything(), (bad, line) => {
      const good = { ...GOOD.lines, lines: [...GOOD.lines.lines] };
      const mixed = { ...GOOD.lines, lines: [line, ...GOOD.lines.lines] };
      const { workers } = logRequestSchema.parse({ now: 1, isLive: false, workers: [bad, mixed, good] });
      expect(workers.slice(-2).map(({ lines }) => lines.at(-1))).toEqual([...good.lines, ...good.lines]);
    }),
  );
});

test("what cannot be read keeps its worker or ends its job, and says why", () => {
  const { workers } = syncRequestSchema.parse({ ...sync, workers: [{ ...GOOD.workers, state: "new" }] });
  expect(workers).toMatchObject([
    { workerId: "w", state: "unhealthy", detail: expect.stringContaining("state") },
  ]);
  const { assignments } = syncReplySchema.parse({
    revision: 1,
    assignments: [{ ...assignment, startLimitMs: 12_345.6 }],
  });
  const problem = expect.stringContaining("startLimitMs");
  expect(assignments).toMatchObject([{ workerId: "w", revision: 1, dockerArgs: "", env: {}, problem }]);
  const { reports, chunks } = exchangeRequestSchema.parse({
    ...exchange,
    reports: [{ ...GOOD.reports, upload: { sizeBytes: -1 } }],
    chunks: [{ ...GOOD.chunks, outputs: [] }],
  });
  expect(reports).toMatchObject([
    { kind: "failed", ...ref, error: expect.stringContaining("upload.sizeBytes") },
  ]);
  expect(chunks).toMatchObject([{ ...ref, error: expect.stringContaining("outputs") }]);
  const { jobs } = exchangeReplySchema.parse({ ...reply, jobs: [{ ...GOOD.jobs, webhook: 5 }] });
  expect(jobs).toMatchObject([
    { id: "j", attempt: 1, workerId: "w", error: expect.stringContaining("webhook") },
  ]);
});

test("long sentences are cut, and no reason to refuse anything", () => {
  const long = "x".repeat(100_000);
  const { workers } = syncRequestSchema.parse({ ...sync, workers: [{ ...GOOD.workers, detail: long }] });
  const { reports } = exchangeRequestSchema.parse({
    ...exchange,
    reports: [{ kind: "lost", ...ref, reason: long }],
  });
  expect([workers[0]?.detail?.length, reports[0]?.kind === "lost" && reports[0].reason.length]).toEqual([
    2_000, 2_000,
  ]);
});

test("what a host says of itself stays short", () => {
  const gpu = {
    index: 0,
    name: "n".repeat(100_000),
    tier: "t".repeat(100_000),
    memoryMb: 1,
    isSimulated: false,
  };
  const inventory = { gpus: [gpu], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "docker" };
  const sync = { agentVersion: "1".repeat(100_000), inventory, workers: [], appliedRevision: 0, holdMs: 0 };
  const read = syncRequestSchema.parse(sync);
  expect(read.agentVersion).toHaveLength(AGENT_VERSION_MAX_CHARACTERS);
  expect(read.inventory.gpus[0]?.name).toHaveLength(NAME_MAX_CHARACTERS);
  expect(read.inventory.gpus[0]?.tier).toHaveLength(NAME_MAX_CHARACTERS);
  const networkVolumeIds = Array.from({ length: 1_000 }, () => "v".repeat(INVENTORY_MAX_CHARACTERS / 1_000));
  expect(
    syncRequestSchema.safeParse({ ...sync, inventory: { ...inventory, networkVolumeIds } }).success,
  ).toBe(false);
});
