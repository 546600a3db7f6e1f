import { test } from "vitest";
import type { Assignment } from "../../../src/contract/agent/agent.ts";
import { SILENT_LOG } from "../../core/log.ts";
import { Notifier } from "../../core/notifier.ts";
import { type AdoptedWorker, Container, type ContainerOptions } from "./container.ts";

const ASSIGNMENT = {
  workerId: "w",
  endpointId: "e",
  type: "QB",
  env: {},
  gpuIndexes: [],
} as unknown as Assignment;

/** A container whose start takes until `started` is called, and what is done with its log. */
function newContainer(record?: AdoptedWorker) {
  const done: string[] = [];
  const note = (what: string) => () => void done.push(what);
  const start = Promise.withResolvers<void>();
  const runtime = { start: () => start.promise, stop: async () => {}, remove: async () => {} };
  const options = {
    runtime,
    journal: { saveWorker() {} },
    log: SILENT_LOG,
    logs: { mask: note("mask"), begin: note("begin"), resume: note("resume"), finish: async () => {} },
    environmentOf: () => ({}),
    gpus: () => [],
  } as unknown as ContainerOptions;
  return {
    container: new Container(ASSIGNMENT, options, new Notifier(), record),
    runtime,
    done,
    started: start.resolve,
  };
}

test("what a new container prints is read once, also when its assignment comes again meanwhile", async ({
  expect,
}) => {
  const { container, done, started } = newContainer();
  container.setAssignment(ASSIGNMENT);
  const launched = container.launch();
  container.setAssignment(ASSIGNMENT);
  container.markReady();
  container.setAssignment(ASSIGNMENT);
  started();
  expect(await launched).toBeNull();
  container.setAssignment(ASSIGNMENT);
  expect(done.filter((what) => what !== "mask")).toEqual(["begin"]);
});

test("what a container of an earlier agent prints is read once its secrets are known", ({ expect }) => {
  const record = { assignment: ASSIGNMENT, token: "t", wasReady: true, server: null, isFrozen: false };
  const { container, done } = newContainer(record);
  expect(done).toEqual([]);
  container.setAssignment(ASSIGNMENT);
  expect(done).toEqual(["mask", "resume"]);
});

test("a frozen container has the memory of its GPUs until it has ended", async ({ expect }) => {
  const record = { assignment: ASSIGNMENT, token: "t", wasReady: true, server: null, isFrozen: true };
  const { container } = newContainer(record);
  expect(container.usesGpus).toBe(true);
});

test("a container that cannot be removed has its GPUs until it is", async ({ expect }) => {
  const { container, runtime, started } = newContainer();
  container.setAssignment(ASSIGNMENT);
  started();
  await container.launch();
  runtime.stop = () => Promise.reject(new Error("The daemon does not answer."));
  await container.cleanUp();
  expect(container.usesGpus).toBe(true);
  runtime.stop = async () => {};
  await container.cleanUp();
  expect(container.usesGpus).toBe(false);
});
