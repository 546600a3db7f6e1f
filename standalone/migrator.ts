/**
 * A Worker beside that of the edge, which brings the database up to date. Within the runtime a statement costs next to
 * nothing; from Node each would be a call that stops the whole process.
 */
import { applyMigrations, type MigratableDatabase, type Migration } from "./migrations.ts";

type Env = {
  readonly DB: MigratableDatabase;
  /** Who started the runtime knows it; its port is open to everybody on this computer. */
  readonly KEY: string;
};

/** Answers a request that holds all migrations with the names of those that were missing. */
async function migrate(request: Request, { DB, KEY }: Env): Promise<Response> {
  if (request.headers.get("authorization") !== `Bearer ${KEY}`)
    return new Response("Only who started the edge may migrate its database.", { status: 401 });
  try {
    return Response.json(await applyMigrations(DB, (await request.json()) as readonly Migration[]));
  } catch (error) {
    return new Response(String(error), { status: 500 });
  }
}

export default { fetch: migrate };
