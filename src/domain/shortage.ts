/** Why a wanted worker has no place: what was looked for, and how near the nearest host comes. */
import type { HostRoom } from "./host-room.ts";
import { asksOf, diskOf, fitOf, MISFITS, type Ask, type Misfit, type Requirement } from "./misfit.ts";
import type { Shortage } from "./placement.ts";

type Miss = { readonly room: HostRoom; readonly ask: Ask; readonly misfit: Misfit };

const NAMES_SHOWN = 3;
const NO_HOST = "No host of this account is connected. Join one (joinTokenCreate), or start its agent.";

/** To be asked only for a worker for which none of the hosts has room. */
export function explainShortage(wanted: Requirement, rooms: readonly HostRoom[]): Shortage {
  if (rooms.length === 0) return { reason: "no_host", detail: NO_HOST };
  const nearest = nearestMisses(wanted, rooms);
  const reason = wanted.gpuTiers.length > 0 ? "no_matching_gpu" : "no_host";
  return { reason, detail: wordsOf(wanted, rooms, nearest) };
}

/** What the hosts that come nearest lack; of one host the way that comes nearest. */
function nearestMisses(wanted: Requirement, rooms: readonly HostRoom[]): readonly Miss[] {
  const asks = asksOf(wanted);
  let nearest: Miss[] = [];
  let best = -1;
  for (const room of rooms) {
    for (const ask of asks) {
      const fit = fitOf(room, wanted, ask);
      if (fit.kind === "fits") continue;
      const rank = MISFITS.indexOf(fit.misfit);
      if (rank > best) nearest = [];
      best = Math.max(best, rank);
      if (rank === best) nearest.push({ room, ask, misfit: fit.misfit });
    }
  }
  return nearest;
}

function wordsOf(wanted: Requirement, rooms: readonly HostRoom[], misses: readonly Miss[]): string {
  const [first] = misses;
  if (!first) return "There was no room a moment ago; it is looked for again.";
  const hosts = [...new Set(misses.map(({ room }) => room))];
  switch (first.misfit) {
    case "no_gpu":
      return noGpu(wanted, rooms);
    case "few_gpus":
      return fewGpus(wanted, hosts);
    case "location":
      return `No host ${having(wanted)}is in ${list(wanted.locations, "or")}; ${whereabouts(hosts)}. ${MOVE}`;
    case "cuda":
      return `${nameHosts(hosts)} ${has(hosts)} CUDA ${list(cudaVersions(hosts), "and")}; ${cudaWords(wanted)}. ${RELAX}`;
    case "volume":
      return `Network volume ${list(wanted.networkVolumeIds ?? [], "or")} is not there: ${nameHosts(hosts)} ${has(hosts)} others or none. ${ATTACH}`;
    case "small":
      return `${largest(hosts)}; ${sizeWords(first)} are asked for. Ask for less, or join a larger host.`;
    case "disk":
      return `${mostDisk(hosts)}; ${gb(diskOf(wanted))} are asked for. Make room, or lower containerDiskInGb.`;
    case "drained":
    case "cordoned":
      return `${nameHosts(hosts)} ${hosts.length === 1 ? "is" : "are"} ${first.misfit}. Lift that (hostUpdate), or join a host.`;
    case "taken":
      return taken(wanted, hosts, first);
  }
}

const MOVE = "Allow one of these places in locations, or join a host there.";
const RELAX = "Allow another version, or update the driver.";
const ATTACH = "Use another volume, or join a host that has it.";

function noGpu({ gpuTiers, excludedGpuModels }: Requirement, rooms: readonly HostRoom[]): string {
  const gpus = rooms.flatMap(({ host }) => host.gpus);
  const offered = [...new Set(gpus.flatMap(({ tier }) => tier ?? []))].toSorted();
  const hosts = rooms.length === 1 ? "the connected host" : `the ${rooms.length} connected hosts`;
  const without = excludedGpuModels.length > 0 ? ` without ${list(excludedGpuModels, "and")}` : "";
  const offer = offered.length > 0 ? offered.join(", ") : "no GPU of a known tier";
  return (
    `The endpoint asks for ${gpuTiers.join(", ")}${without}, and ${hosts} can give ${offer}. ` +
    "Add a tier that is there to gpuIds, or join a host that has one of these."
  );
}

function fewGpus(wanted: Requirement, hosts: readonly HostRoom[]): string {
  const most = Math.max(
    ...hosts.flatMap((room) => wanted.gpuTiers.map((tier) => countGpus(room, wanted, tier))),
  );
  return (
    `The endpoint asks for ${wanted.gpuCount} GPUs of ${list(wanted.gpuTiers, "or")} on one host; ` +
    `no host has more than ${most}. Lower gpuCount, or join a larger host.`
  );
}

function taken(wanted: Requirement, hosts: readonly HostRoom[], { ask }: Miss): string {
  const wait = "Wait for other workers to leave, or join a host.";
  if (ask.kind === "cpu") {
    const vcpus = Math.max(...hosts.map(({ free }) => free.cpuMilli)) / 1_000;
    const memory = Math.max(...hosts.map(({ free }) => free.memoryMb));
    const free = `at most ${round(vcpus)} vCPUs and ${gb(memory)} of memory free`;
    return `${nameHosts(hosts)} ${has(hosts)} ${free}; ${askWords(ask)} are asked for. ${wait}`;
  }
  const tiers = wanted.gpuTiers.filter((tier) => hosts.some((room) => countGpus(room, wanted, tier) > 0));
  const gpus = hosts.flatMap((room) =>
    tiers.flatMap((tier) => room.gpusOf(tier, wanted.excludedGpuModels).map((gpu) => ({ room, gpu }))),
  );
  const free = gpus.filter(({ room, gpu }) => room.isFree(gpu)).length;
  const subject = `${nameHosts(hosts)} ${has(hosts)} ${list(tiers, "and")}`;
  if (free === 0) {
    const all = gpus.length === 1 ? "the only GPU is" : `all ${gpus.length} GPUs are`;
    return `${subject}, but ${all} taken. ${wait}`;
  }
  return (
    `${subject}, and ${free} of ${gpus.length} GPUs ${free === 1 ? "is" : "are"} free, but no host has room for ` +
    `${wanted.gpuCount} with the vCPUs, memory and disk that go with them. ${wait}`
  );
}

// Words

function nameHosts(rooms: readonly HostRoom[]): string {
  const names = rooms.map(({ host }) => host.name || host.hostId);
  if (names.length === 1) return `Host ${names[0]}`;
  if (names.length > NAMES_SHOWN) return `${names.length} hosts`;
  return `${names.length} hosts (${list(names, "and")})`;
}

function has(rooms: readonly HostRoom[]): string {
  return rooms.length === 1 ? "has" : "have";
}

function having({ gpuTiers }: Requirement): string {
  return gpuTiers.length > 0 ? `with ${list(gpuTiers, "or")} ` : "";
}

function whereabouts(rooms: readonly HostRoom[]): string {
  const places = [...new Set(rooms.map((room) => `${room.countryCode} (${room.dataCenterId})`))].toSorted();
  const subject = rooms.length === 1 ? "the one that would do is" : "those that would do are";
  return `${subject} in ${list(places, "and")}`;
}

function cudaVersions(rooms: readonly HostRoom[]): readonly string[] {
  return [...new Set(rooms.map(({ host }) => host.cudaVersion ?? "unknown"))].toSorted();
}

function cudaWords({ allowedCudaVersions = [], minCudaVersion }: Requirement): string {
  const allowed = allowedCudaVersions.length > 0 ? [list(allowedCudaVersions, "or")] : [];
  return `${[...allowed, ...(minCudaVersion ? [`${minCudaVersion} or later`] : [])].join(", ")} is asked for`;
}

function largest(rooms: readonly HostRoom[]): string {
  const [largest] = rooms.toSorted((a, b) => b.whole.cpuMilli - a.whole.cpuMilli);
  if (!largest) return "";
  const { cpuMilli, memoryMb } = largest.whole;
  return `${nameHosts([largest])} has ${round(cpuMilli / 1_000)} vCPUs and ${gb(memoryMb)} of memory`;
}

function sizeWords({ ask }: Miss): string {
  return ask.kind === "cpu" ? askWords(ask) : "more vCPUs or memory";
}

function askWords({ cpuMilli, memoryMb }: { readonly cpuMilli: number; readonly memoryMb: number }): string {
  return `${round(cpuMilli / 1_000)} vCPUs and ${gb(memoryMb)}`;
}

function mostDisk(rooms: readonly HostRoom[]): string {
  const [most] = rooms.toSorted((a, b) => b.free.diskMb - a.free.diskMb);
  if (!most) return "";
  const others = rooms.length > 1 ? ", the most of all" : "";
  return `${nameHosts([most])} has ${gb(Math.max(0, most.free.diskMb))} of disk free${others}`;
}

function countGpus(room: HostRoom, { excludedGpuModels }: Requirement, tier: string): number {
  return room.gpusOf(tier, excludedGpuModels).length;
}

function gb(megabytes: number): string {
  return `${Math.floor(megabytes / 100) / 10} GB`;
}

function round(value: number): number {
  return Math.floor(value * 10) / 10;
}

function list(words: readonly string[], last: "and" | "or"): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
