/** `.flash/context.json`: where this project was deployed to last, by which scripts find their functions. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { Target } from "./target.ts";

export async function writeContext(directory: string, { app, environment }: Target): Promise<void> {
  const path = join(directory, ".flash", "context.json");
  await mkdir(join(directory, ".flash"), { recursive: true });
  const context = { app: app.name, environment: environment.name };
  await writeFileAtomic(path, `${JSON.stringify(context, null, 2)}\n`);
}
