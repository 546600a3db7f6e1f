/** `.flash/context.json`: where this project was deployed to last, by which scripts find their functions. */
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { ensureFlashDirectory } from "../project/flash-directory.ts";
import type { Target } from "./target.ts";

export async function writeContext(directory: string, { app, environment }: Target): Promise<void> {
  const path = join(await ensureFlashDirectory(directory), "context.json");
  const context = { app: app.name, environment: environment.name };
  await writeFileAtomic(path, `${JSON.stringify(context, null, 2)}\n`);
}
