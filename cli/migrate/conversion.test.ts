import { expect, test } from "vitest";
import { itemsOf } from "./conversion.ts";
import { sourceEndpointSchema, sourceTemplateSchema } from "./source-schemas.ts";

const ENDPOINT = {
  id: "ep",
  name: "one",
  type: "QUEUE",
  image: "ghcr.io/acme/worker:1.4",
  gpu: { pools: ["ADA_24"] },
  workers: { min: 0, max: 3, idleTimeout: 5 },
  scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
  dataCenterIds: [],
  networkVolumes: [],
  timeout: 300_000,
  flashboot: "OFF",
};
const NOTHING = {
  sshKeys: [],
  secrets: [],
  registries: [],
  delegations: [],
  networkVolumes: [],
  templates: [],
  endpoints: [],
  extras: [],
  unread: [],
};

/** The one endpoint of an account, with changes to its documented form. */
function converted(changes: object) {
  const endpoint = sourceEndpointSchema.parse({ ...ENDPOINT, ...changes });
  const [item] = itemsOf({ ...NOTHING, endpoints: [endpoint] });
  if (item === undefined) throw new Error("there is no item");
  return item;
}

test("an endpoint keeps its settings under Edgerun's names", () => {
  const { settings, notes, problem } = converted({});
  expect({ settings, notes, problem }).toMatchSnapshot();
});

test.each([
  [{ gpu: null, cpu: [{ id: "cpu5c", vcpuCount: 4, memory: 8 }] }, { instanceIds: ["cpu5c-4-8"] }],
  [{ gpu: { pools: ["ADA_24"], excludedTypes: [" NVIDIA L4"] } }, { gpuIds: "ADA_24,-NVIDIA L4" }],
  [{ scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 } }, { scalerValue: 1 }],
  [{ timeout: 0 }, { executionTimeoutMs: 600_000 }],
  [{ timeout: 10 }, { executionTimeoutMs: 5_000 }],
  [{ ports: ["8000/http", "22/tcp"] }, { ports: "8000/http,22/tcp" }],
])("%j becomes %j", (changes, settings) => {
  const item = converted(changes);
  expect(item.settings).toMatchObject(settings);
  expect(item.problem).toBeUndefined();
});

test.each([
  [{ image: null }, "image"],
  [{ image: "runpod/flash:py3.12-latest" }, "flash deploy"],
  [{ gpu: null }, "neither GPUs nor CPUs"],
  [{ gpu: { pools: ["QUANTUM_9"] } }, "QUANTUM_9"],
  [{ gpu: null, cpu: [{ id: "cpu9x", vcpuCount: 2, memory: 4 }] }, "cpu9x"],
])("%j is refused, with a reason that names %s", (changes, reason) => {
  expect(converted(changes).problem).toContain(reason);
});

test.each([
  [{ newSetting: 1 }, "newSetting"],
  [{ gpu: { pools: ["ADA_24"], excludedTypes: ["NVIDIA Nothing"] } }, "NVIDIA Nothing"],
  [{ scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 } }, "0.5"],
  [{ timeout: 0 }, "timeout"],
  [{ dataCenterIds: ["US-KS-2"] }, "US-KS-2"],
])("%j has a note that names %s", (changes, word) => {
  expect(converted(changes).notes.join()).toContain(word);
});

test("of templates with one name the first is migrated", () => {
  const template = (id: string, name: string) =>
    sourceTemplateSchema.parse({ id, name, image: "a:1", serverless: true, public: false });
  const items = itemsOf({
    ...NOTHING,
    templates: [template("a", "t"), template("b", "t"), template("c", "u")],
  });
  expect(items.map(({ problem }) => problem?.includes("a,"))).toEqual([undefined, true, undefined]);
});
