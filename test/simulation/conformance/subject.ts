/**
 * Cases of what objects go through: they lose their memory, their alarms fire, sockets wake them. The subject of a case is
 * made again whenever the runtime constructs its object.
 */
import type { ObjectState, Socket } from "./cases.ts";

/** What tells a retry of an alarm from its first run. */
export type AlarmInfo = { readonly retryCount: number; readonly isRetry: boolean };

export type Subject = {
  /** What a caller asks for; all subjects know `notes`. */
  act?(step: string): unknown;
  alarm?(info: AlarmInfo | undefined): unknown;
  /** Called with the object's end of a connection. */
  opened?(socket: Socket): void;
  message?(socket: Socket, message: string | ArrayBuffer): unknown;
  closed?(socket: Socket, code: number, reason: string, wasClean: boolean): unknown;
};

export type ClientEnd = Socket & {
  addEventListener(
    type: "message" | "close",
    listener: (event: { readonly data: unknown; readonly code: number; readonly reason: string }) => void,
  ): void;
};

export type Stub = {
  act(step: string): Promise<unknown>;
  fetch(url: string, init: RequestInit): Promise<{ readonly webSocket: ClientEnd | null }>;
};

/** Where the subject is. */
export type Place = {
  readonly state: ObjectState;
  readonly notes: Notes;
  /** Another object of the case; undefined in that one. */
  readonly other: (() => Stub) | undefined;
};

/** What a case has outside of its objects. */
export type Outside = {
  /** A new one each time. */
  readonly stub: () => Stub;
  readonly other: () => Stub;
  /** The object loses its memory while nothing is under way. */
  readonly evict: () => Promise<void>;
};

export type LifecycleCase = {
  readonly name: string;
  readonly subject: (place: Place) => Subject;
  readonly run: (outside: Outside) => Promise<unknown>;
  readonly gives: unknown;
};

type Named = { readonly caseName: string; readonly runId: string; readonly isOther: boolean };

/** An object's name says of which case it is. */
export function objectName(named: Named): string {
  return JSON.stringify(named);
}

export function parseObjectName(name: string): Named {
  return JSON.parse(name) as Named;
}

/** What a subject has noted in the storage of its object, in order. */
export class Notes {
  readonly #sql: ObjectState["storage"]["sql"];

  constructor({ storage }: ObjectState) {
    this.#sql = storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS note (seq INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT");
  }

  add(value: unknown): void {
    this.#sql.exec("INSERT INTO note (json) VALUES (?)", JSON.stringify(value));
  }

  get all(): unknown[] {
    const rows = this.#sql.exec("SELECT json FROM note ORDER BY seq").toArray();
    return rows.map(({ json }) => JSON.parse(json as string) as unknown);
  }
}

export const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
