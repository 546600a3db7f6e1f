/** The Durable Object of the cases of lifecycle. */
import type { ObjectState, Socket } from "./cases.ts";
import { LIFECYCLE } from "./lifecycle.ts";
import { type AlarmInfo, Notes, objectName, parseObjectName, type Stub, type Subject } from "./subject.ts";

type SubjectEnv = { readonly SUBJECT: { getByName(name: string): unknown } };

declare const WebSocketPair: new () => { 0: Socket; 1: Socket };

/** `DurableObject` is that of the runtime. */
export function subjectClass(DurableObject: unknown) {
  const Base = DurableObject as new (state: unknown, env: unknown) => object;

  return class SubjectObject extends Base {
    readonly #subject: Subject;
    readonly #notes: Notes;

    constructor(context: unknown, env: unknown) {
      super(context, env);
      const state = context as ObjectState;
      const { SUBJECT } = env as SubjectEnv;
      const named = parseObjectName(state.id.name);
      const found = LIFECYCLE.find(({ name }) => name === named.caseName);
      if (!found) throw new Error(`There is no case ${named.caseName}.`);
      const other = (): Stub => SUBJECT.getByName(objectName({ ...named, isOther: true })) as Stub;
      this.#notes = new Notes(state);
      this.#subject = found.subject({ state, notes: this.#notes, other: named.isOther ? undefined : other });
    }

    async act(step: string): Promise<unknown> {
      return step === "notes" ? this.#notes.all : this.#subject.act?.(step);
    }

    async alarm(info?: AlarmInfo): Promise<void> {
      await this.#subject.alarm?.(info);
    }

    async fetch(): Promise<Response> {
      const { 0: client, 1: server } = new WebSocketPair();
      this.#subject.opened?.(server);
      return new Response(null, { status: 101, webSocket: client } as ResponseInit);
    }

    async webSocketMessage(socket: Socket, message: string | ArrayBuffer): Promise<void> {
      await this.#subject.message?.(socket, message);
    }

    async webSocketClose(socket: Socket, code: number, reason: string, wasClean: boolean): Promise<void> {
      await this.#subject.closed?.(socket, code, reason, wasClean);
    }
  };
}
