import { installGlobals, enterWorld } from "./world/globals.ts";
import { installModules } from "./runtime/modules.ts";
import { installWebTypes } from "./runtime/web-types.ts";
import { Machine, World } from "./world/world.ts";
import { Network } from "./runtime/network.ts";
import { loadScript, SimulatedEdge, EDGE_URL, ROOT_KEY } from "./runtime/edge.ts";

installModules();
installGlobals();
let network: Network;
installWebTypes(() => network);
const code = await loadScript();
const { emptyCaches } = await import("./runtime/isolate-caches.ts");
for (let seed = 1; seed <= Number(process.argv[2] ?? 1); seed += 1) {
  const began = performance.now();
  const world = new World(seed);
  enterWorld(world); emptyCaches();
  network = new Network(world);
  const edge = new SimulatedEdge(world, network, code);
  world.isTraced = process.argv.includes("trace");
  const client = new Machine("client");
  let over = false;
  const call = async (path: string, body: unknown) => {
    const response = await fetch(`${EDGE_URL}${path}`, { method: "POST", body: JSON.stringify(body), headers: { authorization: `Bearer ${ROOT_KEY}`, "content-type": "application/json" } });
    return [response.status, await response.json()] as const;
  };
  world.on(client, async () => {
    try {
      const made = await call("/graphql", { query: `mutation { saveEndpoint(input: { name: "e", template: {name: "t", imageName: "i", containerDiskInGb: 5, dockerArgs: ""}, gpuIds: "ADA_24", workersMax: 2 }) { id } }` });
      console.log(JSON.stringify(made));
      const id = (made[1] as any).data.saveEndpoint.id;
      console.log(JSON.stringify(await call(`/v2/${id}/run`, { input: { a: 1 } })));
      console.log(JSON.stringify(await call(`/v2/${id}/run`, { input: 2 })));
    } catch (error) { console.log(error); }
    over = true;
  });
  await world.run(world.now + 600_000, () => over, () => {});
  console.log(seed, world.eventCount, world.elapsedMs, performance.now() - began, world.uncaught);
  if (world.isTraced) for (const line of world.trace) console.log(line.at, line.machine, line.what);
}
process.exit(0);
