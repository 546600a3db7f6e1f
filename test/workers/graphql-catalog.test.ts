import { env } from "cloudflare:workers";
import { graphql as run } from "graphql";
import { afterEach, beforeEach, describe, test, vi } from "vitest";
import { eq } from "drizzle-orm";
import { openDatabase } from "../../src/db/database.ts";
import { fleetStock } from "../../src/db/schema.ts";
import type { HostStock } from "../../src/domain/placement/stock.ts";
import type { Gpu, Inventory } from "../../src/contract/agent/agent.ts";
import { STOCK_CACHE_MS, STOCK_MAX_AGE_MS } from "../../src/management/catalog/present-stock.ts";
import { managementSchema } from "../../src/graphql/schema.ts";
import { INVENTORY, ScriptedAgent } from "./agent-client.ts";
import { EdgeClient } from "./edge-client.ts";
import { codeOf, freshClient } from "./graphql-client.ts";
import { passTime } from "./object.ts";
import { holding, issueAt } from "./message-facts.ts";
import { STOCK_REPORT_MIN_MS } from "../../src/fleet/hosts/stock-reports.ts";
import { HOST_GRACE_MS } from "../../src/fleet/hosts/host-presence.ts";
import { notYet, until } from "./support/until.ts";

const api = new EdgeClient();
const { createEndpoint, graphql, signInAsNewAccount } = api;

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

beforeEach(signInAsNewAccount);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Each test has a later time, in which the hosts of the tests before are silent and nothing is remembered. */
let later = 0;
beforeEach(() => {
  later += STOCK_MAX_AGE_MS + STOCK_CACHE_MS;
  passTime(later);
});

const gpu = (index: number, name: string, tier: string | null, isSimulated = false): Gpu => ({
  index,
  name,
  tier,
  memoryMb: 1,
  isSimulated,
});
const cards = (count: number, name: string, tier: string | null) =>
  Array.from({ length: count }, (_, index) => gpu(index, name, tier));

/** Joins a host that has these GPUs; resolves once the catalog knows it. */
async function hostWith(gpus: readonly Gpu[], more: Partial<Inventory> = {}): Promise<ScriptedAgent> {
  const agent = await ScriptedAgent.join(api);
  const known = (await stockOf(api)).length;
  passTime(STOCK_REPORT_MIN_MS);
  await agent.sync({ inventory: { ...INVENTORY, ...more, gpus: [...gpus] } });
  await until(
    async () => (await stockOf(api)).length > known || notYet("unknown"),
    "the catalog knows the host",
  );
  return agent;
}

/** What the object of an account has reported of its hosts. */
async function stockOf({ accountId }: EdgeClient): Promise<readonly HostStock[]> {
  const row = await openDatabase(env.DB)
    .select()
    .from(fleetStock)
    .where(eq(fleetStock.accountId, accountId))
    .get();
  return row?.hosts ?? [];
}

const ask = async (query: string, variables: object = {}): Promise<Json> => {
  const client = await freshClient();
  const answer = await client.send(query, variables);
  if (answer.errors) throw new Error(JSON.stringify(answer.errors));
  return answer.data;
};

const offerOf = async (id: string, input: object = {}): Promise<Json> => {
  const data = await ask(
    `query ($id: String, $input: GpuLowestPriceInput) { gpuTypes(input: { id: $id }) { lowestPrice(input: $input) {
      stockStatus uninterruptablePrice minimumBidPrice minVcpu minMemory totalCount rentedCount rentalPercentage
      maxGpuCount maxUnreservedGpuCount availableGpuCounts gpuTypeDatacenters countryCode } } }`,
    { id, input },
  );
  return data.gpuTypes[0].lowestPrice;
};

describe("cards", () => {
  test("every card has an id, a name, whole memory and a price that is not nothing", async ({ expect }) => {
    const { gpuTypes } = await ask(
      "{ gpuTypes { id displayName manufacturer memoryInGb securePrice secureSpotPrice maxGpuCount lowestPrice { stockStatus } } }",
    );
    expect(gpuTypes.length).toBeGreaterThan(40);
    expect(new Set(gpuTypes.map((card: Json) => card.id)).size).toBe(gpuTypes.length);
    for (const card of gpuTypes) {
      expect(["Nvidia", "AMD"]).toContain(card.manufacturer);
      expect(card.displayName).not.toBe("");
      expect(card.memoryInGb).toSatisfy(Number.isInteger);
      expect(card.securePrice).toBeGreaterThan(0);
      expect(card.maxGpuCount).toBe(1);
      expect(card.lowestPrice).toEqual({ stockStatus: null });
    }
  });

  test("the names that clients ask for are all there", async ({ expect }) => {
    const names = [
      "NVIDIA A100 80GB PCIe",
      "NVIDIA A100-SXM4-80GB",
      "NVIDIA H100 80GB HBM3",
      "NVIDIA H100 PCIe",
      "NVIDIA H100 NVL",
      "NVIDIA H200",
      "NVIDIA B200",
      "NVIDIA L4",
      "NVIDIA L40",
      "NVIDIA L40S",
      "NVIDIA GeForce RTX 3090",
      "NVIDIA GeForce RTX 4090",
      "NVIDIA GeForce RTX 5090",
      "NVIDIA RTX A6000",
      "NVIDIA RTX 6000 Ada Generation",
      "NVIDIA RTX PRO 6000 Blackwell Server Edition",
      "AMD Instinct MI300X OAM",
      "Tesla V100-SXM2-16GB",
    ];
    for (const name of names) {
      expect((await ask(`{ gpuTypes(input: { id: "${name}" }) { id } }`)).gpuTypes).toEqual([{ id: name }]);
    }
  });

  test("ids are cards or tiers, and unknown names find nothing", async ({ expect }) => {
    const idsOf = async (input: object) => {
      const { gpuTypes } = await ask("query ($input: GpuTypeFilter) { gpuTypes(input: $input) { id } }", {
        input,
      });
      return gpuTypes.map((card: Json) => card.id);
    };
    expect(await idsOf({ ids: ["ADA_24"] })).toEqual(["NVIDIA GeForce RTX 4090"]);
    expect(await idsOf({ ids: ["AMPERE_80", "NVIDIA L4"] })).toEqual([
      "NVIDIA A100 80GB PCIe",
      "NVIDIA A100-SXM4-80GB",
      "NVIDIA L4",
    ]);
    expect(await idsOf({ ids: ["none"] })).toEqual([]);
    expect(await idsOf({ id: "none" })).toEqual([]);
    expect(await idsOf({ id: "NVIDIA L4", ids: ["ADA_24"] })).toEqual([]);
    expect(await idsOf({ cluster: true })).toEqual([]);
    expect((await idsOf({ id: null, ids: [], cluster: false })).length).toBeGreaterThan(40);
  });

  test("tiers name their cards, and each of those cards is listed", async ({ expect }) => {
    const { serverlessGpuPools, gpuTypes } = await ask(
      "{ serverlessGpuPools { id gpuTypeIds } gpuTypes { id } }",
    );
    const pools = new Map<string, string[]>(
      serverlessGpuPools.map((pool: Json) => [pool.id, pool.gpuTypeIds]),
    );
    expect([...pools.keys()]).toEqual([
      "AMPERE_16",
      "AMPERE_24",
      "ADA_24",
      "ADA_32_PRO",
      "AMPERE_48",
      "ADA_48_PRO",
      "AMPERE_80",
      "ADA_80_PRO",
      "HOPPER_141",
      "BLACKWELL_96",
      "BLACKWELL_180",
    ]);
    expect(pools.get("AMPERE_24")).toEqual(
      expect.arrayContaining(["NVIDIA L4", "NVIDIA RTX A5000", "NVIDIA GeForce RTX 3090"]),
    );
    const ids = new Set(gpuTypes.map((card: Json) => card.id));
    for (const [tier, members] of pools) {
      expect([tier, members.length > 0, members.every((member) => ids.has(member))]).toEqual([
        tier,
        true,
        true,
      ]);
    }
  });
});

describe("stock", () => {
  test("nothing is in stock without a host", async ({ expect }) => {
    expect(await offerOf("NVIDIA L4")).toEqual({
      stockStatus: null,
      uninterruptablePrice: null,
      minimumBidPrice: null,
      minVcpu: null,
      minMemory: null,
      totalCount: 0,
      rentedCount: 0,
      rentalPercentage: 0,
      maxGpuCount: 0,
      maxUnreservedGpuCount: 0,
      availableGpuCounts: [],
      gpuTypeDatacenters: [],
      countryCode: null,
    });
  });

  test("it is what hosts have free, with the share of the host that comes with it", async ({ expect }) => {
    await hostWith(cards(4, "NVIDIA L4", "AMPERE_24"), { cpuCount: 32, memoryMb: 128_000 });
    expect(await offerOf("NVIDIA L4")).toEqual({
      stockStatus: "Medium",
      uninterruptablePrice: 0.024,
      minimumBidPrice: 0.024,
      minVcpu: 8,
      minMemory: 32,
      totalCount: 4,
      rentedCount: 0,
      rentalPercentage: 0,
      maxGpuCount: 4,
      maxUnreservedGpuCount: 4,
      availableGpuCounts: [1, 2, 3, 4],
      gpuTypeDatacenters: ["EU-RO-1"],
      countryCode: null,
    });
    expect(await offerOf("NVIDIA L4", { gpuCount: 4 })).toMatchObject({
      stockStatus: "Low",
      minVcpu: 32,
      minMemory: 128,
    });
    expect(await offerOf("NVIDIA L4", { gpuCount: 5 })).toMatchObject({ stockStatus: null, minVcpu: null });
    const { gpuTypes } = await ask('{ gpuTypes(input: { id: "NVIDIA L4" }) { maxGpuCount } }');
    expect(gpuTypes).toEqual([{ maxGpuCount: 4 }]);
  });

  test("cards of clusters are those of hosts on which pods of a cluster reach each other", async ({
    expect,
  }) => {
    const size = { cpuCount: 64, memoryMb: 512_000, dataCenterId: "US-KS-2" };
    await hostWith(cards(8, "NVIDIA H200", "HOPPER_141"), { ...size, canJoinClusters: true });
    await hostWith(cards(16, "NVIDIA H200", "HOPPER_141"));
    await hostWith(cards(8, "NVIDIA B200", "BLACKWELL_180"));
    const fields = `{ id clusterPrice maxGpuCountSecureCloud nodeGroupDatacenters { id location }
      lowestPrice(input: { gpuCount: 8 }) { clusterPrice minVcpu minMemory } }`;

    const ofClusters = await ask(`{ gpuTypes(input: { cluster: true }) ${fields} }`);
    expect(ofClusters.gpuTypes).toEqual([
      {
        id: "NVIDIA H200",
        clusterPrice: 0.141,
        maxGpuCountSecureCloud: 8,
        nodeGroupDatacenters: [{ id: "US-KS-2", location: "United States" }],
        lowestPrice: { clusterPrice: 0.141, minVcpu: 64, minMemory: 512 },
      },
    ]);
    const ofPods = await ask(`{ gpuTypes(input: { ids: ["NVIDIA H200", "NVIDIA B200"] }) ${fields} }`);
    expect(
      ofPods.gpuTypes.map(({ id, maxGpuCountSecureCloud, nodeGroupDatacenters }: Json) => {
        return { id, maxGpuCountSecureCloud, places: nodeGroupDatacenters.map((place: Json) => place.id) };
      }),
    ).toEqual([
      { id: "NVIDIA B200", maxGpuCountSecureCloud: 8, places: [] },
      { id: "NVIDIA H200", maxGpuCountSecureCloud: 16, places: ["US-KS-2"] },
    ]);
  });

  test("a search for cards of clusters asks for a whole host where the largest has fewer GPUs", async ({
    expect,
  }) => {
    const host = { cpuCount: 32, memoryMb: 256_000, canJoinClusters: true };
    await hostWith(cards(4, "NVIDIA L40S", "ADA_48_PRO"), host);
    const wholeHostOf = async (cluster: boolean) => {
      const { gpuTypes } = await ask(
        `query ($input: GpuTypeFilter) { gpuTypes(input: $input) { lowestPrice(input: { gpuCount: 8 }) {
          minVcpu minMemory } } }`,
        { input: { id: "NVIDIA L40S", cluster } },
      );
      return gpuTypes;
    };
    expect(await wholeHostOf(true)).toEqual([{ lowestPrice: { minVcpu: 32, minMemory: 256 } }]);
    expect(await wholeHostOf(false)).toEqual([{ lowestPrice: { minVcpu: null, minMemory: null } }]);
  });

  test("a GPU that a worker has is not free, and what is free is known within seconds", async ({
    expect,
  }) => {
    const agent = await hostWith(cards(2, "NVIDIA RTX A4000", "AMPERE_16"));
    expect(await offerOf("NVIDIA RTX A4000")).toMatchObject({ stockStatus: "Medium", rentedCount: 0 });
    const endpointId = await createEndpoint("workersMin: 1, workersMax: 1");
    const inventory = { ...INVENTORY, gpus: cards(2, "NVIDIA RTX A4000", "AMPERE_16") };
    passTime(STOCK_REPORT_MIN_MS);
    const isTaken = async () => {
      await agent.sync({ inventory });
      return (await stockOf(api))[0]?.gpus[0]?.free === 1 || notYet("free");
    };
    await until(isTaken, "the catalog knows that it is taken");
    expect(await offerOf("NVIDIA RTX A4000")).toMatchObject({ rentedCount: 0 });
    passTime(STOCK_CACHE_MS);
    expect(await offerOf("NVIDIA RTX A4000")).toMatchObject({
      stockStatus: "Low",
      totalCount: 2,
      rentedCount: 1,
      rentalPercentage: 0.5,
    });
    await graphql(
      `mutation { saveEndpoint(input: { id: "${endpointId}", workersMin: 0, workersMax: 0 }) { id } }`,
    );
  });

  test("eight places are High, one is Low", async ({ expect }) => {
    await hostWith([...cards(8, "NVIDIA L40", "ADA_48_PRO"), gpu(8, "NVIDIA L40S", "ADA_48_PRO")]);
    expect((await offerOf("NVIDIA L40")).stockStatus).toBe("High");
    expect((await offerOf("NVIDIA L40", { gpuCount: 2 })).stockStatus).toBe("Medium");
    expect((await offerOf("NVIDIA L40S")).stockStatus).toBe("Low");
  });

  test("simulated GPUs count as what they stand for, divided ones do not", async ({ expect }) => {
    await hostWith([
      gpu(0, "NVIDIA B200", "BLACKWELL_180", true),
      gpu(1, "NVIDIA A100-SXM4-80GB", null),
      gpu(2, "Tesla T4", null),
    ]);
    expect((await offerOf("NVIDIA B200")).stockStatus).toBe("Low");
    expect((await offerOf("NVIDIA A100-SXM4-80GB")).stockStatus).toBeNull();
    expect((await offerOf("Tesla T4")).stockStatus).toBe("Low");
  });

  test("it can be asked for by place and by size, with nulls and empty lists around", async ({ expect }) => {
    await hostWith(cards(1, "NVIDIA A30", "AMPERE_24"), { dataCenterId: "US-KS-2" });
    const big = { dataCenterId: "EUR-NO-1", cpuCount: 64, memoryMb: 512_000 };
    await hostWith(cards(1, "NVIDIA A30", "AMPERE_24"), big);
    const status = async (input: object) => (await offerOf("NVIDIA A30", input)).stockStatus;

    expect(await status({ dataCenterId: "US-KS-2" })).toBe("Low");
    expect(await status({ dataCenterId: "EU-RO-1" })).toBeNull();
    expect(await status({ countryCode: "NO" })).toBe("Low");
    expect(await status({ countryCode: "RO" })).toBeNull();
    expect(await status({ minVcpuCount: 64, minMemoryInGb: 512 })).toBe("Low");
    expect(await status({ minVcpuCount: 65 })).toBeNull();
    expect(await status({ secureCloud: true })).toBe("Medium");
    expect(await status({ secureCloud: false })).toBeNull();
    const idle = {
      gpuCount: null,
      secureCloud: null,
      dataCenterId: "",
      countryCode: null,
      minDisk: null,
      minMemoryInGb: null,
      allowedCudaVersions: [],
      minCudaVersion: "12.8",
      compliance: null,
      supportPublicIp: true,
    };
    expect(await offerOf("NVIDIA A30", idle)).toMatchObject({
      stockStatus: "Medium",
      minVcpu: 2,
      minMemory: 1,
      gpuTypeDatacenters: ["EUR-NO-1", "US-KS-2"],
    });
  });

  test("a silent host, or one without a data center, is not counted there", async ({ expect }) => {
    await hostWith(cards(1, "NVIDIA A40", "AMPERE_48"), { dataCenterId: "my cellar" });
    expect((await offerOf("NVIDIA A40")).gpuTypeDatacenters).toEqual(["EU-RO-1"]);
    passTime(STOCK_MAX_AGE_MS + 1);
    expect((await offerOf("NVIDIA A40")).stockStatus).toBeNull();
  });

  test("hosts of all accounts are counted, and one that is removed or lost is not, at once", async ({
    expect,
  }) => {
    const [first, second] = [
      await hostWith(cards(1, "NVIDIA L40", "ADA_48_PRO")),
      await EdgeClient.ofNewAccount(),
    ];
    const other = await ScriptedAgent.join(second);
    const inventory = { ...INVENTORY, gpus: cards(2, "NVIDIA L40", "ADA_48_PRO") };
    await other.sync({ inventory, presence: "p", holdMs: 0 });
    await until(
      async () => (await stockOf(second)).length > 0 || notYet("unknown"),
      "the catalog knows the other",
    );
    const count = async () => {
      passTime(STOCK_CACHE_MS);
      return (await offerOf("NVIDIA L40")).totalCount;
    };
    expect(await count()).toBe(3);
    await graphql(`mutation { hostRemove(input: { id: "${first.hostId}" }) }`);
    expect(await count()).toBe(2);
    const presence = await other.openPresence("p");
    passTime(HOST_GRACE_MS);
    presence.close();
    const look = async () => (await count()) === 0 || notYet("a host that is lost counts");
    await until(look, "the lost host is not counted");
  });

  test("a number out of range is refused by name", async ({ expect }) => {
    const client = await freshClient();
    const answer = await client.send(
      '{ gpuTypes(input: { id: "NVIDIA L4" }) { lowestPrice(input: { gpuCount: 0 }) { stockStatus } } }',
    );
    expect(codeOf(answer)).toBe("INVALID_INPUT");
    expect(answer.errors[0].message).toMatch(issueAt("gpuCount", 1));
  });
});

describe("data centers", () => {
  test("those with hosts are listed, and the default one always", async ({ expect }) => {
    await hostWith(cards(1, "NVIDIA A10", "AMPERE_24"), { dataCenterId: "US-KS-2" });
    const { dataCenters, countryCodes } = await ask(
      "{ countryCodes dataCenters { id name location region listed storageSupport globalNetwork compliance } }",
    );
    expect(dataCenters.length).toBeGreaterThan(20);
    expect(dataCenters.filter((place: Json) => place.listed)).toEqual([
      {
        id: "EU-RO-1",
        name: "EU-RO-1",
        location: "Romania",
        region: "EUROPE",
        listed: true,
        storageSupport: true,
        globalNetwork: false,
        compliance: [],
      },
      expect.objectContaining({ id: "US-KS-2", location: "United States", region: "NORTH_AMERICA" }),
    ]);
    expect(countryCodes).toEqual(["RO", "US"]);
  });

  test("each reports its stock of every GPU type", async ({ expect }) => {
    await hostWith(cards(2, "NVIDIA H200", "HOPPER_141"), { dataCenterId: "US-KS-2" });
    const availability = async (input: string) => {
      const { dataCenters } = await ask(
        `{ dataCenters { id gpuAvailability${input} { id gpuTypeId gpuTypeDisplayName displayName available stockStatus } } }`,
      );
      const available = dataCenters.map(({ id, gpuAvailability }: Json) => [
        id,
        gpuAvailability.filter((card: Json) => card.available),
      ]);
      return available.filter(([, found]: [string, Json[]]) => found.length > 0);
    };
    const h200 = {
      id: "NVIDIA H200",
      gpuTypeId: "NVIDIA H200",
      gpuTypeDisplayName: "H200 SXM",
      displayName: "H200 SXM",
      available: true,
    };
    expect(await availability("")).toEqual([["US-KS-2", [{ ...h200, stockStatus: "Medium" }]]]);
    expect(await availability("(input: { gpuCount: 2 })")).toEqual([
      ["US-KS-2", [{ ...h200, stockStatus: "Low" }]],
    ]);
    expect(await availability("(input: { gpuCount: 3 })")).toEqual([]);
  });
});

describe("CPU flavors", () => {
  const flavor = async (id: string, specifics = "") =>
    (
      await ask(`{ cpuFlavors(input: { id: "${id}" }) { id groupId groupName displayName minVcpu maxVcpu
        vcpuBurstable ramMultiplier diskLimitPerVcpu specifics${specifics} { stockStatus securePrice slsPrice } } }`)
    ).cpuFlavors;

  test("there are six, and an unknown one is null", async ({ expect }) => {
    const { cpuFlavors } = await ask("{ cpuFlavors { id } }");
    expect(cpuFlavors.map(({ id }: Json) => id)).toEqual([
      "cpu3c",
      "cpu3g",
      "cpu3m",
      "cpu5c",
      "cpu5g",
      "cpu5m",
    ]);
    expect(await flavor("none")).toEqual([]);
  });

  test("the smallest size is answered for, unless another is asked for", async ({ expect }) => {
    await hostWith([], { cpuCount: 4, memoryMb: 8_000, dataCenterId: "US-KS-2" });
    expect(await flavor("cpu5c")).toEqual([
      {
        id: "cpu5c",
        groupId: "cpu5",
        groupName: "CPU5",
        displayName: "Compute-Optimized",
        minVcpu: 1,
        maxVcpu: 32,
        vcpuBurstable: false,
        ramMultiplier: 2,
        diskLimitPerVcpu: 15,
        specifics: { stockStatus: "Medium", securePrice: 0.001, slsPrice: 0.001 },
      },
    ]);
    const specificsOf = async (input: string) => (await flavor("cpu5c", `(input: ${input})`))[0].specifics;
    expect(await specificsOf('{ dataCenterId: "", instanceId: "cpu5c-4-8" }')).toEqual({
      stockStatus: "Low",
      securePrice: 0.004,
      slsPrice: 0.004,
    });
    expect(await specificsOf('{ instanceId: "cpu5c-8-16" }')).toMatchObject({
      stockStatus: null,
      securePrice: 0.008,
    });
    expect(await specificsOf('{ dataCenterId: "EU-RO-1" }')).toMatchObject({ stockStatus: null });
    expect(await specificsOf('{ instanceId: "cpu3c-1-2" }')).toEqual({
      stockStatus: null,
      securePrice: null,
      slsPrice: null,
    });
  });
});

describe("prices", () => {
  const withPrices = async (GPU_PRICES: string) => await freshClient({ ...env, GPU_PRICES });
  const QUERY =
    '{ gpuTypes(input: { ids: ["NVIDIA L4", "NVIDIA RTX A5000", "ADA_24"] }) { id securePrice secureSpotPrice } }';

  test("the installation sets them by card and by tier, and the card wins", async ({ expect }) => {
    const client = await withPrices('{"NVIDIA L4": 0.43, "AMPERE_24": 0.2}');
    expect((await client.send(QUERY)).data.gpuTypes).toEqual([
      { id: "NVIDIA GeForce RTX 4090", securePrice: 0.024, secureSpotPrice: 0.024 },
      { id: "NVIDIA L4", securePrice: 0.43, secureSpotPrice: 0.43 },
      { id: "NVIDIA RTX A5000", securePrice: 0.2, secureSpotPrice: 0.2 },
    ]);
  });

  test("wrong settings are reported by name, and break nothing else", async ({ expect }) => {
    const wrong = {
      "{": ["GPU_PRICES"],
      "[]": ["GPU_PRICES"],
      '{"NVIDIA L5": 1}': ["GPU_PRICES", "NVIDIA L5"],
      '{"NVIDIA L4": "1"}': ["GPU_PRICES", "NVIDIA L4"],
      '{"ADA_24": -1}': ["GPU_PRICES", "ADA_24"],
    };
    for (const [text, facts] of Object.entries(wrong)) {
      const client = await withPrices(text);
      const answer = await client.send(QUERY);
      expect([text, answer.status, codeOf(answer)]).toEqual([text, 200, "NOT_CONFIGURED"]);
      expect(answer.errors[0].message).toMatch(holding(...facts));
      expect((await client.send("{ myself { id } }")).data.myself.id).toBe(client.accountId);
    }
  });
});

test("the whole catalog answers an anonymous caller", async ({ expect }) => {
  await hostWith(cards(1, "NVIDIA L4", "AMPERE_24"));
  const answer = await run({
    schema: managementSchema,
    source: `{ countryCodes serverlessGpuPools { id } dataCenters { id listed gpuAvailability { stockStatus } }
      gpuTypes { id maxGpuCount nodeGroupDatacenters { id } lowestPrice { stockStatus } }
      cpuFlavors { id specifics { stockStatus } } }`,
    contextValue: { env, now: Date.now() },
  });
  expect(answer.errors).toBeUndefined();
});
