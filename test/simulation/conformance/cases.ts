/**
 * What production code relies on of its runtime, case by case: each must come out the same on workerd and on the simulated
 * runtime. Both take the state of one object and the bindings of the edge; a case returns what can be written as JSON.
 */

type Row = Record<string, unknown>;
type Cursor = Iterable<Row> & { toArray(): Row[]; one(): Row; readonly columnNames: readonly string[] };
export type Socket = {
  readonly readyState: number;
  accept(): void;
  send(message: string | ArrayBuffer): void;
  close(code?: number, reason?: string): void;
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
};

/** The parts of a Durable Object's state that production code uses. */
export type ObjectState = {
  readonly id: { readonly name: string };
  readonly storage: {
    readonly sql: { exec(text: string, ...values: unknown[]): Cursor };
    transactionSync<Result>(work: () => Result): Result;
    sync(): Promise<void>;
    getAlarm(): Promise<number | null>;
    setAlarm(at: number): Promise<void>;
    deleteAlarm(): Promise<void>;
    deleteAll(): Promise<void>;
  };
  acceptWebSocket(socket: Socket, tags?: string[]): void;
  getWebSockets(tag?: string): Socket[];
  blockConcurrencyWhile<Result>(work: () => Promise<Result>): Promise<Result>;
  abort(reason?: string): void;
};

type Stored = { readonly key: string; readonly size: number };
type Bucket = {
  get(key: string, options?: object): Promise<(Stored & { text(): Promise<string> }) | null>;
  head(key: string): Promise<Stored | null>;
  put(key: string, value: string | Uint8Array | ReadableStream, options?: object): Promise<unknown>;
  delete(keys: string | string[]): Promise<void>;
  list(
    options?: object,
  ): Promise<{ readonly objects: Stored[]; readonly truncated: boolean; readonly cursor?: string }>;
};
type Statement = {
  bind(...values: unknown[]): Statement;
  all(): Promise<{ readonly results: Row[]; readonly meta: { readonly changes: number } }>;
  run(): Promise<{ readonly meta: { readonly changes: number } }>;
  first(column?: string): Promise<unknown>;
  raw(): Promise<unknown[][]>;
};
type Database = { prepare(text: string): Statement; batch(statements: Statement[]): Promise<unknown> };

export type Platform = {
  readonly state: ObjectState;
  readonly bucket: Bucket;
  readonly database: Database;
};

export type ConformanceCase = {
  readonly name: string;
  readonly run: (platform: Platform) => unknown;
  readonly gives: unknown;
};

/** What a call throws, without what differs between runtimes. */
async function thrown(act: () => unknown): Promise<string> {
  try {
    await act();
    return "nothing";
  } catch (error) {
    return error instanceof Error ? error.constructor.name : "no error";
  }
}

const inline = (name: string, gives: unknown, run: ConformanceCase["run"]): ConformanceCase => ({
  name,
  gives,
  run,
});

const table = ({ state }: Platform, columns = "id INTEGER PRIMARY KEY, value TEXT"): void => {
  state.storage.sql.exec("DROP TABLE IF EXISTS thing");
  state.storage.sql.exec(`CREATE TABLE thing (${columns}) STRICT`);
};

const ids = ({ state }: Platform): unknown[] =>
  state.storage.sql
    .exec("SELECT id FROM thing ORDER BY id")
    .toArray()
    .map(({ id }) => id);

declare const WebSocketPair: new () => { 0: Socket; 1: Socket };
declare const IdentityTransformStream: new () => {
  readable: ReadableStream<Uint8Array>;
  writable: WritableStream<Uint8Array>;
};

const SQL: readonly ConformanceCase[] = [
  inline("values keep their types", [{ a: 1, b: 1.5, c: "text", d: null }], ({ state }) =>
    state.storage.sql.exec("SELECT ? AS a, ? AS b, ? AS c, ? AS d", 1, 1.5, "text", null).toArray(),
  ),
  inline("bytes come back as an ArrayBuffer", ["ArrayBuffer", [1, 2]], ({ state }) => {
    const { bytes } = state.storage.sql.exec("SELECT ? AS bytes", new Uint8Array([1, 2])).one();
    return [Object.prototype.toString.call(bytes).slice(8, -1), [...new Uint8Array(bytes as ArrayBuffer)]];
  }),
  inline("names of columns", ["a", "b"], ({ state }) => [
    ...state.storage.sql.exec("SELECT 1 AS a, 2 AS b").columnNames,
  ]),
  inline("a cursor is iterated", [1, 2], ({ state }) =>
    [...state.storage.sql.exec("SELECT 1 AS n UNION ALL SELECT 2")].map(({ n }) => n),
  ),
  inline("one() of no row throws", "Error", ({ state }) =>
    thrown(() => state.storage.sql.exec("SELECT 1 AS n WHERE 0").one()),
  ),
  inline("one() of two rows throws", "Error", ({ state }) =>
    thrown(() => state.storage.sql.exec("SELECT 1 AS n UNION ALL SELECT 2").one()),
  ),
  inline("a statement that is wrong throws", "Error", ({ state }) =>
    thrown(() => state.storage.sql.exec("SELECT FROM")),
  ),
  inline("a statement that violates a constraint throws", "Error", (platform) => {
    table(platform);
    const insert = (): unknown => platform.state.storage.sql.exec("INSERT INTO thing (id) VALUES (1)");
    insert();
    return thrown(insert);
  }),
  inline("several statements run in one call", [1, 2], (platform) => {
    table(platform);
    platform.state.storage.sql.exec("INSERT INTO thing (id) VALUES (1); INSERT INTO thing (id) VALUES (2);");
    return ids(platform);
  }),
  inline("RETURNING gives rows", [{ id: 7 }], (platform) => {
    table(platform);
    return platform.state.storage.sql.exec("INSERT INTO thing (id) VALUES (7) RETURNING id").toArray();
  }),
  inline("JSON functions are there", ["a", 1], ({ state }) => {
    const { k, n } = state.storage.sql
      .exec(`SELECT '{"x":"a","n":1}' ->> '$.x' AS k, json_extract('{"n":1}', '$.n') AS n`)
      .one();
    return [k, n];
  }),
];

const TRANSACTIONS: readonly ConformanceCase[] = [
  inline("a transaction returns what its work returns", 5, ({ state }) =>
    state.storage.transactionSync(() => 5),
  ),
  inline("work that throws leaves no rows", ["RangeError", [1]], async (platform) => {
    table(platform);
    const { sql } = platform.state.storage;
    sql.exec("INSERT INTO thing (id) VALUES (1)");
    const error = await thrown(() =>
      platform.state.storage.transactionSync(() => {
        sql.exec("INSERT INTO thing (id) VALUES (2)");
        throw new RangeError("no");
      }),
    );
    return [error, ids(platform)];
  }),
  inline("a transaction in a transaction is undone alone", [1, 3], (platform) => {
    table(platform);
    const { sql } = platform.state.storage;
    platform.state.storage.transactionSync(() => {
      sql.exec("INSERT INTO thing (id) VALUES (1)");
      try {
        platform.state.storage.transactionSync(() => {
          sql.exec("INSERT INTO thing (id) VALUES (2)");
          throw new Error("no");
        });
      } catch {
        sql.exec("INSERT INTO thing (id) VALUES (3)");
      }
    });
    return ids(platform);
  }),
  inline("sync() resolves with nothing", "undefined", async (platform) => {
    table(platform);
    return typeof (await platform.state.storage.sync());
  }),
  inline("deleteAll() removes tables", "Error", async (platform) => {
    table(platform);
    await platform.state.storage.deleteAll();
    return thrown(() => platform.state.storage.sql.exec("SELECT * FROM thing"));
  }),
];

const LATER = 4_000_000_000_000;

const ALARMS: readonly ConformanceCase[] = [
  inline("an alarm is set, and moved", [LATER, LATER - 1], async ({ state }) => {
    await state.storage.setAlarm(LATER);
    const first = await state.storage.getAlarm();
    await state.storage.setAlarm(LATER - 1);
    return [first, await state.storage.getAlarm()];
  }),
  inline("an alarm that a transaction sets goes with it", [LATER - 1, LATER - 1], async ({ state }) => {
    const { storage } = state;
    await storage.setAlarm(LATER);
    storage.transactionSync(() => void storage.setAlarm(LATER - 1));
    const kept = await storage.getAlarm();
    await thrown(() =>
      storage.transactionSync(() => {
        void storage.setAlarm(LATER - 2);
        throw new Error("no");
      }),
    );
    return [kept, await storage.getAlarm()];
  }),
  inline(
    "an alarm that a transaction in a transaction sets goes with it alone",
    LATER - 1,
    async ({ state }) => {
      const { storage } = state;
      await storage.setAlarm(LATER);
      storage.transactionSync(() => {
        void storage.setAlarm(LATER - 1);
        try {
          storage.transactionSync(() => {
            void storage.setAlarm(LATER - 2);
            throw new Error("no");
          });
        } catch {
          // only the inner one is undone
        }
      });
      return storage.getAlarm();
    },
  ),
  inline("deleteAll() removes the alarm", null, async ({ state }) => {
    await state.storage.setAlarm(LATER);
    await state.storage.deleteAll();
    return state.storage.getAlarm();
  }),
];

const SOCKETS: readonly ConformanceCase[] = [
  inline("sockets are found by their tags", [1, 2, 0], ({ state }) => {
    const [one, other] = [new WebSocketPair(), new WebSocketPair()];
    state.acceptWebSocket(one[1], ["case-a", "case-both"]);
    state.acceptWebSocket(other[1], ["case-both"]);
    return ["case-a", "case-both", "case-none"].map((tag) => state.getWebSockets(tag).length);
  }),
  inline("an attachment is a copy", [{ a: [1] }, { a: [1] }], ({ state }) => {
    const { 1: socket } = new WebSocketPair();
    state.acceptWebSocket(socket, ["case-attachment"]);
    const value = { a: [1] };
    socket.serializeAttachment(value);
    value.a.push(2);
    (socket.deserializeAttachment() as typeof value).a.push(3);
    const [found] = state.getWebSockets("case-attachment");
    return [socket.deserializeAttachment(), found?.deserializeAttachment()];
  }),
  inline("a socket without attachment has null", null, ({ state }) => {
    const { 1: socket } = new WebSocketPair();
    state.acceptWebSocket(socket);
    return socket.deserializeAttachment();
  }),
  inline("readyState of an accepted socket", 1, ({ state }) => {
    const { 1: socket } = new WebSocketPair();
    state.acceptWebSocket(socket);
    return socket.readyState;
  }),
  inline("nothing is sent after close()", ["TypeError", 2], async ({ state }) => {
    const { 1: socket } = new WebSocketPair();
    state.acceptWebSocket(socket);
    socket.close(1000, "over");
    return [await thrown(() => socket.send("late")), socket.readyState];
  }),
  inline(
    "codes that may not be sent are refused",
    ["InvalidAccessError", "InvalidAccessError"],
    async ({ state }) => {
      const { 1: socket } = new WebSocketPair();
      state.acceptWebSocket(socket);
      const nameOf = async (code: number): Promise<string> => {
        try {
          socket.close(code);
          return "nothing";
        } catch (error) {
          return (error as Error).name;
        }
      };
      return [await nameOf(1005), await nameOf(1006)];
    },
  ),
];

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream).text();
}

function streamOf(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Response(text).body as ReadableStream<Uint8Array<ArrayBuffer>>;
}

const BUCKETS: readonly ConformanceCase[] = [
  inline("an object is stored, and read", ["hello", 5], async ({ bucket }) => {
    await bucket.put("case/a", "hello");
    const found = await bucket.get("case/a");
    return [await found?.text(), found?.size];
  }),
  inline("what is missing is null", [null, null], async ({ bucket }) => [
    await bucket.get("case/missing"),
    await bucket.head("case/missing"),
  ]),
  inline("what is there is kept where only a new one is wanted", [true, null, "x"], async ({ bucket }) => {
    const onlyIf = { etagDoesNotMatch: "*" };
    await bucket.delete("case/only");
    const first = await bucket.put("case/only", "x", { onlyIf });
    const second = await bucket.put("case/only", "y", { onlyIf });
    return [first !== null, second, await (await bucket.get("case/only"))?.text()];
  }),
  inline("what was found is read as it was, though another is stored meanwhile", "x", async ({ bucket }) => {
    await bucket.put("case/found", "x");
    const found = await bucket.get("case/found");
    await bucket.put("case/found", "y");
    return found?.text();
  }),
  inline("a range is read, of which the size is that of the whole", ["ell", 5], async ({ bucket }) => {
    await bucket.put("case/range", "hello");
    const found = await bucket.get("case/range", { range: { offset: 1, length: 3 } });
    return [await found?.text(), found?.size];
  }),
  inline(
    "keys are listed in pages, in their order",
    [["case/l/a", "case/l/b"], true, ["case/l/c"], false],
    async ({ bucket }) => {
      for (const name of ["c", "a", "b"]) await bucket.put(`case/l/${name}`, "x");
      const first = await bucket.list({ prefix: "case/l/", limit: 2 });
      const second = await bucket.list({ prefix: "case/l/", limit: 2, cursor: first.cursor });
      const keys = (page: typeof first): string[] => page.objects.map(({ key }) => key);
      return [keys(first), first.truncated, keys(second), second.truncated];
    },
  ),
  inline("many are deleted at once, and one that is missing is no error", [null], async ({ bucket }) => {
    await bucket.put("case/d", "x");
    await bucket.delete(["case/d", "case/never"]);
    return [await bucket.head("case/d")];
  }),
];

const DATABASES: readonly ConformanceCase[] = [
  inline("first() gives a row, a column, or null", [{ a: 1, b: "x" }, "x", null], async ({ database }) => [
    await database.prepare("SELECT 1 AS a, 'x' AS b").first(),
    await database.prepare("SELECT 1 AS a, 'x' AS b").first("b"),
    await database.prepare("SELECT 1 AS a WHERE 0").first(),
  ]),
  inline("raw() gives arrays", [[1, "x"]], async ({ database }) => database.prepare("SELECT 1, 'x'").raw()),
  inline("changes are counted", [2, 0], async ({ database }) => {
    await database.prepare("DROP TABLE IF EXISTS case_thing").run();
    await database.prepare("CREATE TABLE case_thing (id INTEGER PRIMARY KEY)").run();
    const inserted = await database.prepare("INSERT INTO case_thing VALUES (?), (?)").bind(1, 2).run();
    const deleted = await database.prepare("DELETE FROM case_thing WHERE id = 9").run();
    return [inserted.meta.changes, deleted.meta.changes];
  }),
  inline("a batch happens whole or not at all", ["Error", 0], async ({ database }) => {
    await database.prepare("DROP TABLE IF EXISTS case_batch").run();
    await database.prepare("CREATE TABLE case_batch (id INTEGER PRIMARY KEY)").run();
    const insert = database.prepare("INSERT INTO case_batch VALUES (1)");
    const error = await thrown(() => database.batch([insert, insert]));
    return [error, await database.prepare("SELECT count(*) AS n FROM case_batch").first("n")];
  }),
];

const STREAMS: readonly ConformanceCase[] = [
  inline("what is written is read, until it is closed", "abc", async () => {
    const { readable, writable } = new IdentityTransformStream();
    const read = bytesOf(readable);
    const writer = writable.getWriter();
    for (const text of ["a", "bc"]) await writer.write(new TextEncoder().encode(text));
    await writer.close();
    return read;
  }),
  inline("a write waits for its reader", ["waits", "read"], async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    let state = "waits";
    const written = writer.write(new Uint8Array([1])).then(() => (state = "read"));
    await Promise.resolve();
    const before = state;
    await readable.getReader().read();
    await written;
    return [before, state];
  }),
  inline("unpacked bytes can be read into a buffer", ["abc", "TypeError"], async () => {
    const packed = streamOf("abc").pipeThrough(new CompressionStream("gzip"));
    const reader = packed.pipeThrough(new DecompressionStream("gzip")).getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(8));
    const broken = streamOf("abc").pipeThrough(new DecompressionStream("gzip"));
    return [new TextDecoder().decode(value), await thrown(() => bytesOf(broken))];
  }),
  inline("a reader that stops fails the writer", "failed", async () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    writer.closed.catch(() => {});
    const written = writer.write(new Uint8Array([1])).then(
      () => "written",
      () => "failed",
    );
    await readable.cancel("no more");
    return written;
  }),
];

export const CASES: readonly ConformanceCase[] = [
  ...SQL,
  ...TRANSACTIONS,
  ...ALARMS,
  ...SOCKETS,
  ...BUCKETS,
  ...DATABASES,
  ...STREAMS,
];
