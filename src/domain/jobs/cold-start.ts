/**
 * What the start of a worker consists of, for those that wait for it.
 *
 * C1  The parts follow one another and add up to the whole.
 * C2  Image, files and models are fetched at the same time: the one that comes last has all of that time, since only
 *     that one would shorten it.
 */
import {
  byColdStartPart,
  COLD_START_PARTS,
  type ColdStartPart,
  type ColdStartView,
} from "../../contract/job.ts";
import { JITTER_MS, type WorkerStart } from "./worker-start.ts";

export type ColdStart = { readonly totalMs: number; readonly parts: Readonly<Record<ColdStartPart, number>> };

/**
 * The part of a start that one who has waited since `since` saw, until `until` at most. Null when the worker was ready
 * before, or when it is not known. `placedAt`: when its host was chosen. All epoch ms.
 */
export function coldStartOf(
  start: WorkerStart & { readonly placedAt?: number | null | undefined },
  since: number,
  until = Number.POSITIVE_INFINITY,
): ColdStart | null {
  const { readyAt } = start;
  if (readyAt == null || readyAt <= since || readyAt > until + JITTER_MS) return null;
  const end = Math.min(readyAt, until);
  const began = Math.min(Math.max(since, start.placedAt ?? firstStepOf(start) ?? since), end);
  const parts = byColdStartPart(0);
  let cursor = began;
  for (const [part, at] of endsOf(start, readyAt)) {
    if (at == null) continue;
    const next = Math.min(Math.max(cursor, at), end);
    parts[part] += next - cursor;
    cursor = next;
  }
  return { totalMs: end - began, parts };
}

function firstStepOf({ readyAt: _, runtimeStartedAt: __, ...steps }: WorkerStart): number | undefined {
  const known = Object.values(steps).filter((at) => at != null);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** The parts in their order, and when each was over. */
function endsOf(
  start: WorkerStart,
  readyAt: number,
): readonly (readonly [ColdStartPart, number | null | undefined])[] {
  const fetched = [
    { part: "image", from: start.pullStartedAt, to: start.pullEndedAt },
    { part: "files", from: start.filesStartedAt, to: start.filesEndedAt },
    { part: "model", from: start.modelsStartedAt, to: start.modelsEndedAt },
  ] as const;
  const begins = fetched.flatMap(({ from, to }) => (from != null && to != null ? [from] : []));
  const last = fetched.toSorted((a, b) => (b.to ?? 0) - (a.to ?? 0))[0];
  const { containerStartingAt, containerStartedAt, runtimeStartedAt } = start;
  const prepared = begins.length > 0 ? Math.min(...begins) : (containerStartingAt ?? containerStartedAt);
  return [
    ["placement", prepared],
    ...(begins.length > 0 && last ? [[last.part, last.to] as const] : []),
    ["container", containerStartedAt],
    ["runtime", runtimeStartedAt ?? readyAt],
    ["handler", readyAt],
  ];
}

/** As users see it. */
export function describeColdStart({ totalMs, parts }: ColdStart): ColdStartView {
  const slowest = COLD_START_PARTS.reduce((most, part) => (parts[part] > parts[most] ? part : most));
  return { totalMs, parts, slowest, advice: ADVICE[slowest] };
}

const STANDBY = "With flashBootType FLASHBOOT a worker that was there before resumes in place of a new start";
const ADVICE: Readonly<Record<ColdStartPart, string>> = {
  placement:
    "The host learned late that it should start the worker: check its connection and its load; workersMin keeps workers ready.",
  image:
    "The image was not on the host: make it smaller, share layers between images, or keep a worker with workersMin.",
  files:
    "The files of the app were not on the host: leave out what the image has, or keep a worker with workersMin.",
  model:
    "The model was not on the host: keep a worker with workersMin, or give the hosts a nearer MODEL_SOURCE.",
  container: `Docker took this long to create and start the container. ${STANDBY}.`,
  runtime: `The program in the container took this long until its first call; what it imports and loads before counts. ${STANDBY}.`,
  handler: `Loading the handler took this long: import less, or load models later. ${STANDBY}, with everything loaded.`,
};
