/** Calls of an object about requests for a server behind it, and their outcomes. */
import type { ResetReason } from "../link/link-messages.ts";

/**
 * The worker that a request asks for.
 * soft: that one if it takes requests, else any. strict: that one and no other. resume: the same, and a worker on
 * standby is resumed for it.
 */
export type Affinity = { readonly mode: "soft" | "strict" | "resume"; readonly workerId: string };

/** A body that has not been read. Opened at most once, and only after a worker was found. */
export type BodySource = { open(): Promise<ReadableStream<Uint8Array>> };

export type ForwardCall = {
  /** Random, made by the caller: identifies the request in `abortForwarded` and on its wake-up channel. */
  readonly requestId: string;
  /** A RequestHead as JSON, which the object passes on as it is. */
  readonly head: Uint8Array;
  /** Null: the request has none. Bytes: all of it, LOAD_BALANCED_INLINE_BODY_BYTES at most. */
  readonly body: Uint8Array | BodySource | null;
  /** How many bytes a BodySource has, if its client has announced it. */
  readonly bodyBytes?: number | null;
  readonly affinity: Affinity | null;
  /** Port of a pod; absent for a worker, which has one server. */
  readonly port?: number;
  /** When the request came in, epoch ms. */
  readonly receivedAt: number;
};

/** Why a request has no answer of a worker; `detail` is a sentence for users. */
export type ForwardFailure = {
  readonly kind: "failed";
  readonly reason: ResetReason;
  readonly detail: string;
  readonly workerId: string | null;
};

/** The object has no worker for the request. */
export type NoWorker =
  /**
   * None is ready: wait on the channel `?direct=<requestId>&affinity=<mode>:<workerId>&until=<epoch ms>`, then call again.
   * `detail` explains why, as a sentence for users.
   */
  | { readonly kind: "wait"; readonly detail: string }
  /** The request requires one worker strictly, and that worker no longer exists. */
  | { readonly kind: "worker_gone" }
  /** As many requests as the object can take are in flight, or as many are waiting. */
  | { readonly kind: "overloaded"; readonly limit: number };

export type ForwardReply =
  | NoWorker
  | ForwardFailure
  | {
      readonly kind: "answer";
      readonly workerId: string;
      /** A ResponseHead as JSON, as the agent sent it. */
      readonly head: Uint8Array;
      /** Bytes when the whole body came with the head. A stream fails when the worker or its host broke off. */
      readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
    };
