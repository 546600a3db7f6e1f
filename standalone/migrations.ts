/** One file of migrations, as the statements in it. */
export type Migration = { readonly name: string; readonly statements: readonly string[] };

/** The part of a D1 binding that migrating needs. */
export type MigratableDatabase = {
  prepare(sql: string): MigratableStatement;
  batch(statements: MigratableStatement[]): Promise<unknown>;
};
type MigratableStatement = {
  bind(...values: unknown[]): MigratableStatement;
  run(): Promise<unknown>;
  all(): Promise<{ results: Record<string, unknown>[] }>;
};

// The table that `wrangler d1 migrations apply` uses, with the same names in it.
const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS d1_migrations(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

/** Applies the missing migrations, each completely or not at all. Returns the names of those applied. */
export async function applyMigrations(
  database: MigratableDatabase,
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  await database.prepare(CREATE_TABLE).run();
  const { results } = await database.prepare("SELECT name FROM d1_migrations").all();
  const applied = new Set(results.map((row) => row["name"]));
  const missing = migrations.filter(({ name }) => !applied.has(name));
  for (const { name, statements } of missing) {
    const record = database.prepare("INSERT INTO d1_migrations (name) VALUES (?)").bind(name);
    await database.batch([...statements.map((sql) => database.prepare(sql)), record]);
  }
  return missing.map(({ name }) => name);
}
