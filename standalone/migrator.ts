/**
 * A Worker beside that of the edge, which brings the database up to date. Within the runtime a statement costs next to
 * nothing; from Node each would be a call that stops the whole process.
 */
import { applyMigrations, type MigratableDatabase, type Migration } from "./migrations.ts";

type Env = { readonly DB: MigratableDatabase };

/** Answers a request that holds all migrations with the names of those that were missing. */
async function migrate(request: Request, { DB }: Env): Promise<Response> {
  try {
    return Response.json(await applyMigrations(DB, (await request.json()) as readonly Migration[]));
  } catch (error) {
    return new Response(String(error), { status: 500 });
  }
}

export default { fetch: migrate };
