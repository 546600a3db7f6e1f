/**
 * A Worker beside that of the edge, which migrates the database. Inside the runtime a statement is cheap; from Node each
 * would be a call that blocks the process.
 */
import { applyMigrations, type MigratableDatabase, type Migration } from "./migrations.ts";

type Env = {
  readonly DB: MigratableDatabase;
  /** Known only to the process that started the runtime; all users of this computer can reach the port. */
  readonly KEY: string;
};

/** Takes a request with all migrations; answers with the names of those that were missing. */
async function migrate(request: Request, { DB, KEY }: Env): Promise<Response> {
  if (request.headers.get("authorization") !== `Bearer ${KEY}`)
    return new Response("Only the process that started the edge may migrate its database.", { status: 401 });
  try {
    return Response.json(await applyMigrations(DB, (await request.json()) as readonly Migration[]));
  } catch (error) {
    return new Response(String(error), { status: 500 });
  }
}

export default { fetch: migrate };
