/** Published clients of the management API, unmodified, against a whole Edgerun. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { buildSchema } from "graphql";
import { afterAll, beforeAll, test } from "vitest";
import { ensureClientVenv } from "../support/client-venv.ts";
import { startEdgerun, type Edgerun } from "../support/edgerun.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../clients/${file}`, import.meta.url));

type Offer = {
  readonly instance: string;
  readonly price: number;
  readonly gpu: string | null;
  readonly count: number;
};

let edgerun: Edgerun;
let python = "";

beforeAll(async () => {
  [edgerun, python] = await Promise.all([startEdgerun({ runtime: "process" }), ensureClientVenv()]);
});
afterAll(() => edgerun.stop());

test("every function of the PyPI package runpod's api module finds what it expects", async ({ expect }) => {
  const target = ["--base-url", edgerun.baseUrl, "--api-key", edgerun.apiKey];
  const { all } = await execa(python, [pathOf("runpod_api.py"), ...target], { all: true });
  expect(all).toContain("ok         every function of the module was called");
});

test("a GraphQL client tool reads the schema by introspection, and sends a document", async ({ expect }) => {
  const tool = join(dirname(python), "gql-cli");
  const target = [`${edgerun.baseUrl}/graphql`, "-H", `Authorization:Bearer ${edgerun.apiKey}`];
  const { stdout } = await execa(tool, [...target, "--print-schema"]);
  const schema = buildSchema(stdout);
  expect(schema.getMutationType()?.getFields()).toHaveProperty("saveEndpoint");

  expect(schema.getMutationType()?.getFields()["saveEndpoint"]?.description).toBeTruthy();

  const document = "query Mine($id: String) { myself { endpoint(id: $id) { id name } } }";
  const answer = await execa(tool, [...target, "-V", `id:"${edgerun.endpointId}"`], { input: document });
  expect(JSON.parse(answer.stdout)).toMatchObject({ myself: { endpoint: { id: edgerun.endpointId } } });
});

test("the PyPI package gpuhunt finds the cards and CPU sizes of the hosts, without a key", async ({
  expect,
}) => {
  const { stdout } = await execa(python, [pathOf("gpuhunt_catalog.py"), "--base-url", edgerun.baseUrl]);
  const offers = JSON.parse(stdout) as readonly Offer[];
  const card = offers.find(({ instance, count }) => instance === "NVIDIA GeForce RTX 4090" && count === 1);
  expect(card).toMatchObject({ gpu: "RTX4090", price: expect.toSatisfy((price: number) => price > 0) });
  expect(offers.some(({ instance }) => /^cpu\d[a-z]-\d+-\d+$/.test(instance))).toBe(true);
});
