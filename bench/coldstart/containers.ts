/**
 * How soon a container asks for a job, by how far it was prepared: `node bench/coldstart/containers.ts [rounds] [image …]`.
 *
 * The kinds take turns in each round, so that what else the machine does meets all of them alike.
 */
import Dockerode from "dockerode";
import { ensureHelloImage } from "../../scripts/images/node-image.ts";
import { latencyOf } from "../load/percentiles.ts";
import { BareContainers, START_KINDS, type StartKind } from "./bare-containers.ts";

const ROUNDS = Number(process.argv[2] ?? 30);
const IMAGES = process.argv.length > 3 ? process.argv.slice(3) : [(await ensureHelloImage()).image];

using bare = await BareContainers.open(new Dockerode());
console.log(`${ROUNDS} rounds each, ms\n\n| Image | Start | p50 | p99 |\n| --- | --- | ---: | ---: |`);
for (const image of IMAGES) {
  const figures = new Map<StartKind, number[]>(START_KINDS.map((kind) => [kind, []]));
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const kind of START_KINDS) {
      const ms = await bare.start(kind, image);
      if (round >= 0) figures.get(kind)?.push(ms); // the first round warms up
    }
  }
  for (const [kind, ms] of figures) {
    const { p50, p99 } = latencyOf(ms);
    console.log(`| ${image} | ${kind} | ${p50.toFixed(0)} | ${p99.toFixed(0)} |`);
  }
}
