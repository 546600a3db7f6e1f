/** A body on its way from one machine to another: each piece takes time, and both ends see when the other one is gone. */
import type { Machine } from "../world/world.ts";
import { CONNECTION_LOST } from "./injected.ts";
import type { Network } from "./network.ts";

export type Carriage = {
  readonly network: Network;
  readonly source: ReadableStream<Uint8Array>;
  /** Where the code runs that writes it. */
  readonly from: Machine;
  /** Where its reader runs, if that may crash. */
  readonly to?: Machine | undefined;
  /** The connection breaks in the middle. */
  readonly isTorn?: boolean;
};

/** What its reader gets. */
export function transferred(carriage: Carriage): ReadableStream<Uint8Array> {
  return new TransferredStream(carriage).readable;
}

class TransferredStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #carriage: Carriage;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #controller: ReadableByteStreamController | undefined;
  #isOver = false;
  /** Ends a wait for the next piece. */
  #release: () => void = () => {};

  constructor(carriage: Carriage) {
    this.#carriage = carriage;
    this.#reader = carriage.source.getReader();
    this.readable = new ReadableStream({
      type: "bytes",
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => this.#leave(),
    });
    carriage.from.whenCrashed.add(this.#lose);
    carriage.to?.whenCrashed.add(this.#leave);
  }

  /** Resolves once the next piece has come, or none will. */
  #pull(): Promise<void> {
    const { network, from } = this.#carriage;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#release = resolve;
    network.world.on(from, () => {
      this.#reader.read().then(
        ({ done, value }) => this.#arrive(() => (done ? this.#end() : this.#deliver(value))),
        () => this.#arrive(() => this.#break()),
      );
    });
    return promise;
  }

  #arrive(act: () => void): void {
    const { network } = this.#carriage;
    network.world.schedule(network.carrier, network.delay(), "body", () => {
      if (!this.#isOver) act();
    });
  }

  #deliver(piece: Uint8Array): void {
    if (this.#carriage.isTorn) {
      const half = piece.slice(0, piece.byteLength / 2);
      if (half.byteLength > 0) this.#controller?.enqueue(half);
      this.#leave();
      return this.#fail();
    }
    this.#controller?.enqueue(piece.slice());
    this.#release();
  }

  #end(): void {
    this.#forget();
    this.#controller?.close();
    this.#controller?.byobRequest?.respond(0);
    this.#release();
  }

  #break(): void {
    this.#forget();
    this.#fail();
  }

  #fail(): void {
    this.#controller?.error(new TypeError(CONNECTION_LOST));
    this.#release();
  }

  /** Its writer has crashed. */
  #lose = (): void => this.#arrive(() => this.#break());

  /** Its reader is gone: the writer learns of it. */
  #leave = (): void => {
    if (this.#isOver) return;
    this.#forget();
    this.#release();
    const { network, from } = this.#carriage;
    network.world.schedule(from, network.delay(), "reader is gone", () => {
      void this.#reader.cancel().catch(() => {});
    });
  };

  #forget(): void {
    this.#isOver = true;
    this.#carriage.from.whenCrashed.delete(this.#lose);
    this.#carriage.to?.whenCrashed.delete(this.#leave);
  }
}
