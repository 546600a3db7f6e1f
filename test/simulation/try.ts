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
const { loadAgent, SimulatedHost } = await import("./host/host.ts");
const { closeAllServers } = await import("./host/modules/http.ts");
const { removeAllDatabases } = await import("./host/modules/sqlite.ts");
const agentCode = await loadAgent();
for (let seed = 1; seed <= Number(process.argv[2] ?? 1); seed += 1) {
  const began = performance.now();
  const world = new World(seed);
  enterWorld(world); emptyCaches(); closeAllServers(); removeAllDatabases();
  network = new Network(world);
  const edge = new SimulatedEdge(world, network, code);
  world.isTraced = process.argv.includes("trace");
  const client = new Machine("client");
  let over = false;
  const call = async (method: string, path: string, body?: unknown, key = ROOT_KEY) => {
    const response = await fetch(`${EDGE_URL}${path}`, { method, ...(body !== undefined && { body: JSON.stringify(body) }), headers: { authorization: `Bearer ${key}`, "content-type": "application/json" } });
    return [response.status, await response.json()] as const;
  };
  const log: string[] = [];
  world.on(client, async () => {
    try {
      const token = await call("POST", "/graphql", { query: `mutation { joinTokenCreate(input: { name: "h" }) { token } }` });
      const joinToken = (token[1] as any).data.joinTokenCreate.token;
      const joined = await call("POST", "/agent/v1/join", { joinToken, name: "h", agentVersion: "0.3.0", inventory: { gpus: [], cpuCount: 1, memoryMb: 1, diskFreeMb: 1, runtime: "process" } });
      const { hostId, hostToken } = joined[1] as any;
      const host = new SimulatedHost({ world, code: agentCode, edgeUrl: EDGE_URL, hostId, hostToken, gpuCount: 2, faults: () => ({ handlerMs: 500, fails: 0, dies: 0, hangs: 0, repeats: 0, forgets: 0 }), observer: { began() {}, ended() {} } });
      host.start();
      const made = await call("POST", "/graphql", { query: `mutation { saveEndpoint(input: { name: "e", template: {name: "t", imageName: "i", containerDiskInGb: 5, dockerArgs: ""}, gpuIds: "ADA_24", workersMax: 2 }) { id } }` });
      const id = (made[1] as any).data.saveEndpoint.id;
      const sent = await call("POST", `/v2/${id}/run`, { input: { a: 1 } });
      for (let i = 0; i < 60; i += 1) {
        await new Promise((r) => setTimeout(r, 1000));
        const status = await call("GET", `/v2/${id}/status/${(sent[1] as any).id}`);
        log.push(JSON.stringify(status[1]));
        if ((status[1] as any).status === "COMPLETED") break;
      }
      log.push(String(i++));
    } catch (error) { log.push(String((error as Error).stack)); }
    over = true;
  });
  let i = 0;
  await world.run(world.now + 600_000, () => over, () => {});
  console.log(log.slice(-2).join("\n"), seed, world.eventCount, world.elapsedMs, performance.now() - began, world.uncaught);
  if (world.isTraced) for (const line of world.trace) console.log(line.at, line.machine, line.what);
}
process.exit(0);
