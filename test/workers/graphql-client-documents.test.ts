/** Documents of the shapes that real clients send, each against an account that has something to show. */
import { beforeAll, describe, test } from "vitest";
import { freshClient, savedEndpoint, savedVolume, type Client } from "./graphql-client.ts";

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- answers are asserted, not typed

let client: Client;
const known = { endpointId: "", templateId: "", volumeId: "" };

beforeAll(async () => {
  client = await freshClient();
  known.volumeId = await savedVolume(client);
  const endpoint = await savedEndpoint(client, `, networkVolumeId: "${known.volumeId}", workersMax: 0`);
  known.endpointId = endpoint.id;
  known.templateId = endpoint.templateId;
});

const ask = async (query: string, variables?: object | null): Promise<Json> => {
  const answer = await client.send(query, variables ?? undefined);
  if (answer.status !== 200 || answer.errors) throw new Error(JSON.stringify(answer.body));
  return answer.data;
};

/** Nothing that a strict reader wants as an integer may be a fraction. */
function wholeNumbers(value: Json, names: readonly string[]): boolean {
  if (Array.isArray(value)) return value.every((element) => wholeNumbers(element, names));
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, inner]) =>
    names.includes(name) && inner !== null ? Number.isInteger(inner) : wholeNumbers(inner, names),
  );
}

describe("string-built documents of the Python client", () => {
  test("it lists GPUs, and looks at one before it makes a pod", async ({ expect }) => {
    const list = await ask("query GpuTypes { gpuTypes { id displayName memoryInGb } }");
    expect(wholeNumbers(list, ["memoryInGb"])).toBe(true);
    const one = await ask(`query GpuTypes {
      gpuTypes(input: {id: "NVIDIA L4"}) {
        maxGpuCount id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud securePrice
        communityPrice oneMonthPrice threeMonthPrice oneWeekPrice communitySpotPrice secureSpotPrice
        lowestPrice(input: {gpuCount: 2}) { minimumBidPrice uninterruptablePrice }
      } }`);
    expect(one.gpuTypes[0]).toMatchObject({ id: "NVIDIA L4", memoryInGb: 24, secureCloud: true });
    expect(await ask('query { gpuTypes(input: {id: "nothing"}) { id } }')).toEqual({ gpuTypes: [] });
  });

  test("it reads volumes and endpoints, and gives an endpoint another template", async ({ expect }) => {
    const volumes = await ask("query myself { myself { id networkVolumes { id name size dataCenterId } } }");
    expect(volumes.myself.networkVolumes).toEqual([
      { id: known.volumeId, name: "v", size: 10, dataCenterId: "EU-RO-1" },
    ]);
    const endpoints = await ask(`query { myself { endpoints { aiKey gpuIds id idleTimeout name networkVolumeId
      locations scalerType scalerValue templateId type userId version workersMax workersMin workersStandby gpuCount
      env { key value } createdAt networkVolume { id dataCenterId } } } }`);
    expect(endpoints.myself.endpoints[0]).toMatchObject({
      id: known.endpointId,
      networkVolume: { id: known.volumeId, dataCenterId: "EU-RO-1" },
    });
    const swapped = await ask(`mutation { updateEndpointTemplate(input: {templateId: "${known.templateId}",
      endpointId: "${known.endpointId}"}) { id templateId } }`);
    expect(swapped.updateEndpointTemplate).toEqual({ id: known.endpointId, templateId: known.templateId });
  });

  test("it saves a template and an endpoint with blank strings for what is not set", async ({ expect }) => {
    const { saveTemplate } = await ask(`mutation { saveTemplate(input: { name: "py", imageName: "a:1",
      dockerArgs: "", containerDiskInGb: 10, volumeInGb: 0, ports: "", env: [], isServerless: true,
      containerRegistryAuthId: "", startSsh: true, isPublic: false, readme: "" }) {
      id name imageName dockerArgs containerDiskInGb volumeInGb volumeMountPath ports env { key value }
      isServerless } }`);
    const { saveEndpoint } =
      await ask(`mutation { saveEndpoint(input: { name: "py", templateId: "${saveTemplate.id}",
      gpuIds: "AMPERE_16", networkVolumeId: "", locations: "", idleTimeout: 5, scalerType: "QUEUE_DELAY",
      scalerValue: 4, workersMin: 0, workersMax: 3, allowedCudaVersions: "", gpuCount: 1, flashBootType: FLASHBOOT }) {
      id name templateId gpuIds networkVolumeId locations idleTimeout scalerType scalerValue workersMin workersMax
      allowedCudaVersions gpuCount flashBootType } }`);
    expect(saveEndpoint).toMatchObject({
      networkVolumeId: null,
      locations: null,
      flashBootType: "FLASHBOOT",
    });
  });

  test("it lists pods", async ({ expect }) => {
    const fields = `id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName
      lastStatusChange machineId memoryInGb name podType port ports uptimeSeconds vcpuCount volumeInGb
      volumeMountPath runtime { ports { ip, isIpPublic, privatePort, publicPort, type } }
      machine { gpuDisplayName }`;
    expect(await ask(`query myPods { myself { pods { ${fields} } } }`)).toEqual({ myself: { pods: [] } });
    expect(await ask(`query pod { pod(input: {podId: "p"}) { ${fields} } }`)).toEqual({ pod: null });
  });
});

describe("documents of flash, with variables", () => {
  const SELECTION = `aiKey gpuIds id idleTimeout locations name networkVolumeId
    networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId scalerType scalerValue templateId type userId
    version workersMax workersMin workersStandby workersPFBTarget gpuCount allowedCudaVersions minCudaVersion
    executionTimeoutMs instanceIds activeBuildid idePodId flashBootType`;

  test("it saves an endpoint with an inline template, and again, and deletes it", async ({ expect }) => {
    const save =
      "mutation saveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { " + SELECTION + " } }";
    const input = {
      name: "live-flash",
      executionTimeoutMs: 0,
      gpuCount: 1,
      gpuIds: "ADA_24,AMPERE_80,-NVIDIA A100-SXM4-80GB",
      idleTimeout: 60,
      minCudaVersion: "12.8",
      scalerType: "QUEUE_DELAY",
      scalerValue: 4,
      type: "QB",
      workersMax: 1,
      workersMin: 0,
      workersPFBTarget: 0,
      allowedCudaVersions: "",
      locations: "EU-RO-1,US-KS-2",
      flashBootType: "FLASHBOOT",
      networkVolumeIds: [{ networkVolumeId: known.volumeId }],
      template: {
        advancedStart: false,
        config: {},
        containerDiskInGb: 64,
        containerRegistryAuthId: "",
        dockerArgs: "",
        env: [{ key: "FLASH_APP", value: "shop" }],
        imageName: "flash:1",
        name: "Live_1__PodTemplate_2",
        ports: "",
        startScript: "",
      },
    };
    const first = (await ask(save, { input })).saveEndpoint;
    expect(first).toMatchObject({
      executionTimeoutMs: 600_000,
      networkVolumeId: null,
      networkVolumeIds: [{ networkVolumeId: known.volumeId, dataCenterId: "EU-RO-1" }],
      version: 1,
    });
    const { template: _, ...rest } = input;
    const again = { ...rest, id: first.id, templateId: first.templateId };
    expect((await ask(save, { input: again })).saveEndpoint.version).toBe(1);

    const template = await ask(
      "query podTemplate($id: String!) { podTemplate(id: $id) { id containerDiskInGb dockerArgs env { key value } imageName name readme } }",
      { id: first.templateId },
    );
    expect(template.podTemplate.env).toEqual([{ key: "FLASH_APP", value: "shop" }]);

    const remove = "mutation deleteEndpoint($id: String!) { deleteEndpoint(id: $id) }";
    expect(await ask(remove, { id: first.id })).toEqual({ deleteEndpoint: null });
    const exists = "query ($id: String!) { myself { endpoint(id: $id) { id } } }";
    expect(await ask(exists, { id: first.id })).toEqual({ myself: { endpoint: null } });
  });

  test("it asks for the stock of tiers and of CPU sizes", async ({ expect }) => {
    const gpus = await ask(
      `query ($gpuTypesInput: GpuTypeFilter, $lowestPriceInput: GpuLowestPriceInput) { gpuTypes(input: $gpuTypesInput) {
        lowestPrice(input: $lowestPriceInput) { stockStatus } id displayName memoryInGb } }`,
      {
        gpuTypesInput: { ids: ["ADA_24"] },
        lowestPriceInput: {
          gpuCount: 1,
          dataCenterId: "",
          secureCloud: true,
          minDisk: null,
          includeAiApi: false,
        },
      },
    );
    expect(gpus.gpuTypes).toHaveLength(1);
    const cpus = await ask(
      `query ($cpuFlavorInput: CpuFlavorInput, $specificsInput: SpecificsInput) { cpuFlavors(input: $cpuFlavorInput) {
        id specifics(input: $specificsInput) { stockStatus securePrice slsPrice } } }`,
      {
        cpuFlavorInput: { id: "cpu3g", isSls: true },
        specificsInput: { dataCenterId: "", instanceId: "cpu3g-1-4", isSls: true },
      },
    );
    expect(cpus.cpuFlavors).toHaveLength(1);
  });
});

describe("documents of catalog readers", () => {
  test("one asks per data center and count, with variables that the document does not declare", async ({
    expect,
  }) => {
    const overview = await ask(
      `query GpuTypes { countryCodes dataCenters { id name listed __typename } gpuTypes { maxGpuCount maxGpuCount
        maxGpuCountCommunityCloud maxGpuCountSecureCloud minPodGpuCount id displayName memoryInGb secureCloud
        communityCloud __typename } }`,
      {},
    );
    const listed = overview.dataCenters.filter((place: Json) => place.listed);
    expect(listed).toHaveLength(1);
    expect(wholeNumbers(overview, ["maxGpuCount", "minPodGpuCount", "memoryInGb"])).toBe(true);

    const prices = await ask(
      `query GpuTypes($lowestPriceInput: GpuLowestPriceInput, $gpuTypesInput: GpuTypeFilter) {
        gpuTypes(input: $gpuTypesInput) { lowestPrice(input: $lowestPriceInput) { minimumBidPrice
        uninterruptablePrice minVcpu minMemory stockStatus compliance countryCode __typename } maxGpuCount id
        nodeGroupDatacenters { id } clusterPrice displayName memoryInGb securePrice communityPrice
        secureSpotPrice communitySpotPrice oneMonthPrice oneWeekPrice threeMonthPrice sixMonthPrice __typename } }`,
      {
        GpuTypeFilter: { cluster: false },
        lowestPriceInput: {
          secureCloud: true,
          dataCenterId: listed[0].id,
          gpuCount: 1,
          minDisk: null,
          minMemoryInGb: null,
          minVcpuCount: null,
          minCudaVersion: "12.8",
        },
      },
    );
    for (const row of prices.gpuTypes) {
      expect(row.lowestPrice).not.toBeNull();
      expect(row.nodeGroupDatacenters).toEqual([]);
    }
    const clusters = await ask(
      "query ($gpuTypesInput: GpuTypeFilter) { gpuTypes(input: $gpuTypesInput) { id } }",
      { gpuTypesInput: { cluster: true } },
    );
    expect(clusters.gpuTypes).toEqual([]);
    const flavors = await ask(
      `query CpuFlavors($dataCenterId: String!) { cpuFlavors { id displayName groupId minVcpu maxVcpu ramMultiplier
        diskLimitPerVcpu specifics(input: { dataCenterId: $dataCenterId }) { stockStatus securePrice } } }`,
      { dataCenterId: listed[0].id },
    );
    for (const flavor of flavors.cpuFlavors) expect(flavor.specifics.securePrice).toBeGreaterThan(0);
  });

  test("others read data centers and tiers", async ({ expect }) => {
    const { dataCenters } =
      await ask(`query GetDataCenters { dataCenters { id name location listed storageSupport
      globalNetwork region compliance gpuAvailability { gpuTypeId gpuTypeDisplayName available stockStatus } } }`);
    expect(dataCenters.length).toBeGreaterThan(20);
    const { serverlessGpuPools } = await ask("query { serverlessGpuPools { id gpuTypeIds } }", null);
    expect(serverlessGpuPools).toHaveLength(11);
  });
});

describe("documents of infrastructure tools", () => {
  test("one keeps network volumes", async ({ expect }) => {
    const fields = "id name size dataCenterId storageClusterId storageType";
    const { createNetworkVolume } = await ask(
      `mutation CreateNetworkVolume($input: CreateNetworkVolumeInput!) { createNetworkVolume(input: $input) { ${fields} } }`,
      { input: { name: "data", size: 20, dataCenterId: "US-KS-2" } },
    );
    const { id } = createNetworkVolume;
    const { updateNetworkVolume } = await ask(
      `mutation UpdateNetworkVolume($input: UpdateNetworkVolumeInput!) { updateNetworkVolume(input: $input) { ${fields} } }`,
      { input: { id, name: "data", size: 30 } },
    );
    expect(updateNetworkVolume).toMatchObject({ id, size: 30 });
    const { myself } = await ask(
      "query getMyVolumes { myself { networkVolumes { id, name, size, dataCenter { id name } } } }",
    );
    expect(myself.networkVolumes).toContainEqual({
      id,
      name: "data",
      size: 30,
      dataCenter: { id: "US-KS-2", name: "US-KS-2" },
    });
    const gone = await ask(
      "mutation DeleteNetworkVolume($input: DeleteNetworkVolumeInput!) { deleteNetworkVolume(input: $input) }",
      { input: { id } },
    );
    expect(gone).toEqual({ deleteNetworkVolume: null });
  });

  test("one reads endpoints and templates with whole numbers", async ({ expect }) => {
    const { myself } = await ask(`query { myself { endpoints { id name gpuIds gpuCount idleTimeout locations
      networkVolumeId networkVolumeIds { networkVolumeId } scalerType scalerValue templateId workersMax workersMin
      workersPFBTarget flashBootType flashEnvironmentId type env { key value } instanceIds computeType
      allowedCudaVersions minCudaVersion executionTimeoutMs modelReferences compliance userId } podTemplates { name
      containerRegistryAuthId } } }`);
    const whole = [
      "gpuCount",
      "idleTimeout",
      "scalerValue",
      "workersMax",
      "workersMin",
      "executionTimeoutMs",
    ];
    expect(wholeNumbers(myself, whole)).toBe(true);
    const { podTemplate } = await ask(
      `query ($id: String!) { podTemplate(id: $id) { id name imageName isServerless isPublic isRunpod category ports
        portsConfig { port name } containerRegistryAuthId volumeInGb volumeMountPath containerDiskInGb env { key value }
        readme dockerArgs startSsh startJupyter } }`,
      { id: known.templateId },
    );
    expect(wholeNumbers(podTemplate, ["volumeInGb", "containerDiskInGb"])).toBe(true);
  });
});
