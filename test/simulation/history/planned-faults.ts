/** Which faults a history has, and how often each happens. */
import type { Random } from "../world/random.ts";

export const FAULTS = [
  "agentKilled",
  "agentPartitioned",
  "clockJumps",
  "clockSkew",
  "containerDies",
  "daemonBroken",
  "callsLost",
  "answersLost",
  "slowNetwork",
  "requestsRepeated",
  "bodiesTorn",
  "strayAnswers",
  "d1Fails",
  "r2Fails",
  "diskFull",
  "diskLies",
  "portTaken",
  "powerLost",
  "objectCrashes",
  "objectEvicted",
  "redeployment",
  "scriptCrashes",
  "workerDies",
  "workerFails",
  "workerForgets",
  "workerHangs",
  "workerRepeats",
  "workerStalls",
  "hookFails",
  "stopsIgnored",
  "killsHang",
  "pullsFail",
  "pullsSlow",
] as const;
export type Fault = (typeof FAULTS)[number];

/** How often each kind happens when it happens at all: times in the history; shares of calls; of clocks and disks, ms. */
export const RATES: Record<Fault, readonly number[]> = {
  agentKilled: [1, 3],
  agentPartitioned: [1, 2],
  clockJumps: [1, 3],
  clockSkew: [10, 1_000],
  containerDies: [1, 4],
  daemonBroken: [1, 2],
  callsLost: [0.01, 0.1],
  answersLost: [0.01, 0.1],
  slowNetwork: [0.02, 0.2],
  requestsRepeated: [0.02, 0.2],
  bodiesTorn: [0.01, 0.1],
  strayAnswers: [0.01, 0.1],
  d1Fails: [0.02, 0.2],
  r2Fails: [0.1, 0.4],
  diskFull: [1, 3],
  diskLies: [100, 2_000],
  portTaken: [0.5, 1],
  powerLost: [1, 2],
  objectCrashes: [1, 6],
  objectEvicted: [3, 20],
  redeployment: [1, 2],
  scriptCrashes: [1, 4],
  workerDies: [0.05, 0.3, 0.7],
  workerFails: [0.1, 0.5],
  workerForgets: [0.1, 0.3],
  workerHangs: [0.1, 0.3],
  workerRepeats: [0.1, 0.5],
  workerStalls: [0.1, 0.5],
  hookFails: [0.2, 0.7],
  stopsIgnored: [0.2, 0.7],
  killsHang: [0.2, 0.7],
  pullsFail: [2, 8],
  pullsSlow: [0.3, 0.8],
};

/** Kinds that happen only when another one does. */
const NEEDED: Partial<Record<Fault, Fault>> = { portTaken: "agentKilled", diskLies: "powerLost" };

/** How many kinds of faults a history has: some are quiet, so that what needs no fault is seen as well. */
const SHARES = [0, 0.1, 0.1, 0.25, 0.4];
/** Kinds that meet in reality; by chance alone three of them would seldom meet here. */
const THEMES: readonly (readonly Fault[])[] = [
  ["agentKilled", "daemonBroken", "portTaken", "diskFull", "diskLies", "powerLost", "containerDies"],
  ["agentKilled", "daemonBroken", "portTaken"],
  ["agentPartitioned", "daemonBroken", "containerDies", "workerHangs"],
  ["agentPartitioned", "objectCrashes", "objectEvicted", "workerHangs"],
  ["objectCrashes", "objectEvicted", "redeployment", "scriptCrashes", "d1Fails", "r2Fails"],
  ["stopsIgnored", "killsHang", "pullsFail", "pullsSlow", "agentKilled"],
  ["callsLost", "answersLost", "slowNetwork", "requestsRepeated", "bodiesTorn", "strayAnswers"],
];
const THEMED = 0.35;
const SHARE_OF_THEME = 0.65;
const SHARE_BESIDE_THEME = 0.06;

/** Kinds that one history has. */
export function chooseFaults(random: Random): readonly Fault[] {
  const chosen = new Set(chooseSome(random));
  for (const fault of [...chosen]) {
    const needed = NEEDED[fault];
    if (needed) chosen.add(needed);
  }
  return FAULTS.filter((fault) => chosen.has(fault));
}

function chooseSome(random: Random): readonly Fault[] {
  if (!random.chance(THEMED)) {
    const share = random.pick(SHARES);
    return FAULTS.filter(() => random.chance(share));
  }
  const theme = random.pick(THEMES);
  return FAULTS.filter((fault) => random.chance(theme.includes(fault) ? SHARE_OF_THEME : SHARE_BESIDE_THEME));
}

/** With these an earlier call of a client may be followed after a later one. */
const COPY_CALLS: readonly Fault[] = ["requestsRepeated", "slowNetwork", "scriptCrashes", "redeployment"];

export function mayRepeatCalls(faults: ReadonlyMap<Fault, number>): boolean {
  return COPY_CALLS.some((fault) => faults.has(fault));
}
