/**
 * The server in a container of a load-balanced endpoint or a pod: answers its health path, and requests after a while, in
 * parts; and opens WebSockets.
 */
import type { WorkerSpec } from "../../../node-agent/runtime/interface/runtime.ts";
import type { World } from "../world/world.ts";
import { MARK_HEADER } from "./marks.ts";
import { listenIn } from "./container-servers.ts";
import type { Container, Containers } from "./containers.ts";
import type { Exchange } from "./exchange.ts";
import { ServedSocket, type SocketObserver } from "./served-socket.ts";
import type { WorkerFaults } from "./worker.ts";

/** What an observer learns of a request in a worker. */
export type RequestObserver = {
  /** `headers`: as they came. */
  readonly began: (mark: string, container: Container, headers: ReadonlyMap<string, string>) => void;
  /** Its answer is complete, or its connection is gone. */
  readonly ended: (mark: string, container: Container) => void;
  /** The agent is about to end or freeze the container. */
  readonly left: (container: Container) => void;
  /** The agent keeps an idle connection to it for as long as servers do. */
  readonly idleLong: (container: Container) => void;
};

export type RequestProgram = {
  readonly world: World;
  readonly containers: Containers;
  readonly faults: (spec: WorkerSpec) => WorkerFaults;
  readonly observer: RequestObserver;
  readonly sockets: SocketObserver;
};

/** Of the parts of the answer, in the request. */
export const PARTS_HEADER = "x-parts";
/** The answer tells its length. */
export const SIZED_HEADER = "x-sized";

/** From its start until it listens, and from then on until it takes requests, typically. */
const LISTEN_MS = 200;
const LOAD_MS = 500;
const SLOW_PROBE_MS = 7_000;
const STALL_MAX_MS = 3_000;
const PART_MS = 30;
const UNWANTED = 0.1;
/** Of common servers, the least and the most. */
const IDLE_MS = [2_000, 5_000] as const;

/** The parts of an answer, by the mark of its request and the length of its body. */
export function partsOf(mark: string, count: number, bodyBytes: number): readonly string[] {
  const parts = Array.from({ length: count }, (_, number) => `${mark}.${number};`);
  return [...parts, `${mark} had ${bodyBytes}`];
}

/** Runs until its machine crashes. */
export function runRequestWorker(program: RequestProgram, container: Container, port: number): void {
  const { random } = program.world;
  let isLoaded = false;
  setTimeout(() => {
    container.output?.print("listens");
    listenIn({
      container,
      port,
      idleLimitMs: () => idleMs(program, container),
      closesIdle: (ms) => {
        if (ms >= IDLE_MS[0]) program.observer.idleLong(container);
      },
      serve: (exchange) => {
        if (exchange.head.headers.has(MARK_HEADER)) serveRequest(program, container, exchange);
        else serveProbe(program, container, exchange, () => isLoaded);
      },
    });
    setTimeout(() => (isLoaded = true), random.delay(LOAD_MS));
  }, random.delay(LISTEN_MS));
}

/** Longer than agents do, unless it behaves badly. */
function idleMs({ world: { random }, faults }: RequestProgram, { spec }: Container): number {
  const { fails, dies } = faults(spec);
  return random.chance(Math.max(fails, dies)) ? random.whole(0, IDLE_MS[0]) : random.whole(...IDLE_MS);
}

/** It wants no WebSocket of some requests for one, and answers these as others. */
function serveRequest(program: RequestProgram, container: Container, exchange: Exchange): void {
  const isSocket = exchange.head.headers.has("upgrade") && !program.world.random.chance(UNWANTED);
  const served = isSocket
    ? new ServedSocket(program, container, exchange)
    : new ServedRequest(program, container, exchange);
  served.start();
}

function serveProbe(
  { world, faults }: RequestProgram,
  { spec }: Container,
  exchange: Exchange,
  isLoaded: () => boolean,
): void {
  const answer = (): void => {
    exchange.answer(isLoaded() ? 200 : 204, {});
    exchange.end();
  };
  exchange.serveBy({
    received() {},
    ended: () => {
      if (world.random.chance(faults(spec).stalls / 4))
        setTimeout(answer, world.random.whole(0, SLOW_PROBE_MS));
      else answer();
    },
    clientGone() {},
  });
}

class ServedRequest {
  readonly #program: RequestProgram;
  readonly #container: Container;
  readonly #exchange: Exchange;
  readonly #mark: string;
  #bodyBytes = 0;
  #isOver = false;

  constructor(program: RequestProgram, container: Container, exchange: Exchange) {
    this.#program = program;
    this.#container = container;
    this.#exchange = exchange;
    this.#mark = exchange.head.headers.get(MARK_HEADER) ?? "";
  }

  start(): void {
    const { world, containers, observer } = this.#program;
    const { headers } = this.#exchange.head;
    this.#exchange.serveBy({
      received: (piece) => (this.#bodyBytes += piece.byteLength),
      ended: () => void this.#answer(),
      clientGone: () => this.#over(),
    });
    world.note(this.#container.machine, `begins the request ${this.#mark}`);
    observer.began(this.#mark, this.#container, headers);
    this.#container.output?.print(`begins the request ${this.#mark}`, { stream: "stderr" });
    containers.noticed();
  }

  /** An answer of 500 is the worker's own, and as good as any other. */
  async #answer(): Promise<void> {
    const { world, faults } = this.#program;
    const { random } = world;
    const { handlerMs, fails, dies, hangs, stalls } = faults(this.#container.spec);
    const { headers } = this.#exchange.head;
    await pause(1 + random.delay(handlerMs));
    if (random.chance(hangs)) return;
    const parts = partsOf(this.#mark, Number(headers.get(PARTS_HEADER)), this.#bodyBytes);
    // It breaks off before this part; 0 is before its head.
    const brokenAt = random.chance(Math.max(fails, dies)) ? random.whole(0, parts.length) : Infinity;
    if (brokenAt === 0) return this.#breakOff(dies > 0);
    const length = headers.has(SIZED_HEADER) ? { "content-length": String(parts.join("").length) } : {};
    this.#do(() =>
      this.#exchange.answer(random.chance(0.9) ? 200 : 500, { [MARK_HEADER]: this.#mark, ...length }),
    );
    for (const [number, part] of parts.entries()) {
      if (number + 1 === brokenAt) return this.#breakOff(dies > 0);
      this.#do(() => this.#exchange.write(Buffer.from(part)));
      await pause(random.chance(stalls) ? random.whole(0, STALL_MAX_MS) : random.delay(PART_MS));
    }
    if (this.#isOver) return;
    this.#over();
    this.#exchange.end();
  }

  #do(act: () => void): void {
    if (!this.#isOver) act();
  }

  #breakOff(dies: boolean): void {
    if (this.#isOver) return;
    this.#over();
    if (dies) this.#program.containers.exit(this.#container, 1);
    else this.#exchange.break();
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#program.observer.ended(this.#mark, this.#container);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}
