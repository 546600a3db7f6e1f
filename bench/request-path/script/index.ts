/**
 * What the platform takes for each part of a request, without anything else:
 *
 *   GET  /v2/<name>/bare      the script answers
 *   GET  /v2/<name>/text      an object answers with a text that is ready
 *   POST /v2/<name>/row       an object inserts a row with the body, in a group commit
 */
import { DurableObject } from "cloudflare:workers";
import { GroupCommit } from "../../../src/durable/group-commit.ts";

/** As long as the `health` of an endpoint. */
const READY = JSON.stringify({ text: "x".repeat(900) });
const JSON_TYPE = { headers: { "Content-Type": "application/json" } };

type Env = { readonly FLOOR: DurableObjectNamespace<FloorObject> };

export class FloorObject extends DurableObject<Env> {
  readonly #commit: GroupCommit;
  #lastId = 0;

  constructor(context: DurableObjectState, env: Env) {
    super(context, env);
    context.storage.sql.exec("CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, input TEXT)");
    this.#commit = new GroupCommit(context, () => {});
  }

  text(): string {
    return READY;
  }

  insert(input: string): Promise<number> {
    return this.#commit.run(() => {
      this.#lastId += 1;
      this.ctx.storage.sql.exec("INSERT INTO jobs VALUES (?, ?)", this.#lastId, input);
      return this.#lastId;
    });
  }
}

export default {
  async fetch(request: Request, { FLOOR }: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    const object = FLOOR.getByName("floor");
    if (pathname.endsWith("/bare")) return new Response(READY, JSON_TYPE);
    if (pathname.endsWith("/text")) return new Response(await object.text(), JSON_TYPE);
    const id = await object.insert(await request.text());
    return new Response(JSON.stringify({ id: String(id), status: "IN_QUEUE" }), JSON_TYPE);
  },
};
